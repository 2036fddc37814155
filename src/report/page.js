/* Makes a figure answer: its legend switches series, pointing at it or walking it with the arrow
 * keys shows values.  The values are read from the figure's own table, the positions follow from
 * the panel's axes, so nothing is stored twice.  Without this script the page is whole. */
"use strict";
(() => {
  const make = (name, props = {}, ...children) => {
    const e = Object.assign(document.createElement(name), props);
    e.append(...children);
    return e;
  };

  /* "log 0.1 10 40 430 …": a function from a value to its position, NaN where there is none. */
  const axis = (text) => {
    const [kind, ...n] = text.split(" ");
    const [lo, hi, from, to, infinity] = n.map(Number);
    const f = kind === "log" ? Math.log : (v) => v;
    return (v) => v === Infinity ? infinity ?? NaN
      : from + (to - from) * (f(v) - f(lo)) / (f(hi) - f(lo));
  };

  const number = (text) => text.startsWith("∞") ? Infinity : parseFloat(text);

  /* All points of a panel: {x, y: positions; c, d: keys; series, at, value: texts}. */
  const pointsOf = (svg, table) => {
    const px = axis(svg.dataset.x), py = axis(svg.dataset.y);
    const names = [...table.tHead.rows[0].cells].slice(1).map((c) => c.textContent.trim());
    const series = [...svg.querySelectorAll("g.s")].reverse();
    const points = [];
    for (const row of table.tBodies[0].rows) {
      const head = row.cells[0], at = head.textContent.trim(), x = px(number(head.dataset.x ?? at));
      for (let i = 0; i < names.length; i++) {
        const value = row.cells[i + 1].textContent.trim(), y = py(number(value));
        if (Number.isFinite(x) && Number.isFinite(y))
          points.push({ x, y, at, value, series: names[i], element: series[i] });
      }
    }
    return points;
  };

  const shown = (e) => !e.classList.contains("off");

  const panel = (svg, table) => {
    const box = svg.parentNode, { width, height } = svg.viewBox.baseVal;
    const xName = table.tHead.rows[0].cells[0].textContent.trim() || "x";
    const yName = svg.querySelector("text[transform]:not(.name)")?.textContent ?? "";
    const tip = make("div", { className: "tip", hidden: true });
    tip.setAttribute("role", "status");
    const ring = document.createElementNS(svg.namespaceURI, "circle");
    ring.setAttribute("r", 5);
    let points, current = null;

    /* The browser would show <title> as a tooltip of its own, over ours. */
    svg.setAttribute("aria-label", svg.querySelector("title").textContent);
    svg.removeAttribute("aria-labelledby");
    svg.querySelector("title").remove();
    svg.setAttribute("tabindex", 0);
    box.append(tip);

    const visible = () => (points ??= pointsOf(svg, table)).filter((p) => shown(p.element));

    const hide = () => {
      current = null;
      tip.hidden = true;
      ring.remove();
    };

    const labelAt = (p) => [...svg.querySelectorAll(".ring[data-label]")].filter((m) => shown(m)
      && Math.hypot(m.cx.baseVal.value - p.x, m.cy.baseVal.value - p.y) < 1
      && m.dataset.c === p.element.dataset.c).map((m) => m.dataset.label);

    const show = (p) => {
      current = p;
      ring.setAttribute("class", "spot " + p.element.getAttribute("class"));
      ring.setAttribute("cx", p.x);
      ring.setAttribute("cy", p.y);
      svg.append(ring);
      tip.replaceChildren(make("b", {}, p.series), make("br"), `${xName}: ${p.at}`, make("br"),
        yName && `${yName}: `, make("span", { className: "value" }, p.value),
        ...labelAt(p).flatMap((text) => [make("br"), text]));
      tip.hidden = false;
      const left = p.x / width * box.clientWidth, top = p.y / height * box.clientHeight;
      const w = tip.offsetWidth, h = tip.offsetHeight;
      tip.style.left = `${Math.max(0, Math.min(left - w / 2, box.clientWidth - w))}px`;
      tip.style.top = `${top - h - 12 < 0 ? top + 14 : top - h - 12}px`;
    };

    const nearest = (x, y) => visible().reduce((best, p) => {
      const far = Math.hypot(p.x - x, p.y - y);
      return far < best.far ? { far, p } : best;
    }, { far: Infinity, p: null });

    const point = (event) => {
      const r = svg.getBoundingClientRect();
      const { far, p } = nearest((event.clientX - r.left) / r.width * width,
        (event.clientY - r.top) / r.height * height);
      if (p && (far < 40 || event.pointerType === "touch" && far < 80)) show(p);
      else hide();
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", (e) => { if (e.pointerType === "mouse") hide(); });
    svg.addEventListener("blur", hide);
    svg.addEventListener("focus", () => {
      const first = visible()[0];
      if (!current && first && svg.matches(":focus-visible")) show(first);
    });

    /* Left and right along a curve, up and down across the curves at the same x. */
    svg.addEventListener("keydown", (event) => {
      const all = visible(), keys = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
      const key = keys.indexOf(event.key);
      if (event.key === "Escape") hide();
      if (key < 0 || !all.length) return;
      event.preventDefault();
      if (!current) return show(all[0]);
      const line = key < 2 ? all.filter((p) => p.element === current.element)
        : all.filter((p) => p.x === current.x).sort((a, b) => b.y - a.y);
      const i = line.indexOf(current) + (key === 0 || key === 3 ? -1 : 1);
      if (line[i]) show(line[i]);
    });
    return hide;
  };

  const figure = (fig) => {
    const elements = [...fig.querySelectorAll("svg .s")];
    const tables = fig.querySelectorAll("table.data");
    const hides = [...fig.querySelectorAll("svg.panel")].map((svg, i) => panel(svg, tables[i]));
    const buttons = [...fig.querySelectorAll(".key")].map((span) => {
      const button = make("button", { type: "button", className: "key" }, ...span.childNodes);
      Object.assign(button.dataset, span.dataset);
      span.replaceWith(button);
      return button;
    });
    const on = (b) => b.getAttribute("aria-pressed") === "true";
    const press = (b, yes) => b.setAttribute("aria-pressed", yes);
    const kind = (b) => b.dataset.c !== undefined ? "c" : "d";
    const owns = (b, e) => e.dataset[kind(b)] === b.dataset[kind(b)];
    const update = () => {
      const off = buttons.filter((b) => !on(b));
      for (const e of elements) e.classList.toggle("off", off.some((b) => owns(b, e)));
      hides.forEach((hide) => hide());
    };
    const alone = (button) => {
      const group = buttons.filter((b) => kind(b) === kind(button));
      const already = group.every((b) => on(b) === (b === button));
      for (const b of group) press(b, already || b === button);
    };
    for (const button of buttons) {
      press(button, true);
      button.addEventListener("click", (event) => {
        if (event.shiftKey) alone(button);
        else press(button, !on(button));
        update();
      });
      button.addEventListener("dblclick", () => { alone(button); update(); });
      const dim = (yes) => () => elements.forEach((e) =>
        e.classList.toggle("dim", yes && on(button) && !owns(button, e)));
      button.addEventListener("pointerenter", (e) => { if (e.pointerType === "mouse") dim(true)(); });
      button.addEventListener("pointerleave", dim(false));
      button.addEventListener("click", dim(false));
    }
  };

  document.querySelectorAll("figure").forEach(figure);
  document.querySelector("button.key")?.closest(".legend").append(make("p", { className: "hint" },
    "Press a key to hide or show its curves, twice to see them alone."));
})();
