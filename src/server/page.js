"use strict";
// The operator's page: asks for /v1/status every few seconds and shows it.  The token lives in this
// tab's session storage only; everything is put into the page as text, never as markup.

const REFRESH_MS = 5000;
const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
let timer = 0;

const count = (n) => number.format(n);
const moment = (s) => new Date(s * 1000).toISOString().replace("T", " ").slice(0, 19) + " UTC";
const show = (id, text) => { $(id).textContent = text; };

function fill(id, rows) {
  $(id).replaceChildren(...rows.map((cells) => {
    const tr = document.createElement("tr");
    for (const [text, kind] of cells) {
      const td = document.createElement("td");
      td.textContent = text;
      if (kind) td.className = kind;
      tr.append(td);
    }
    return tr;
  }));
}

function define(id, pairs) {
  $(id).replaceChildren(...pairs.flatMap(([term, text]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = term;
    dd.textContent = text;
    return [dt, dd];
  }));
}

function drawRate(rate) {
  const rows = rate.rows_per_minute, top = Math.max(1, ...rows), step = 240 / rows.length;
  $("rate").replaceChildren(...rows.map((n, i) => {
    const bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const height = n ? Math.max(1, 47 * n / top) : 0;
    bar.setAttribute("x", i * step);
    bar.setAttribute("y", 48 - height);
    bar.setAttribute("width", step * 0.8);
    bar.setAttribute("height", height);
    return bar;
  }));
  const hour = rows.reduce((a, b) => a + b, 0);
  const text = `${count(rows[rows.length - 1])} this minute, ${count(hour)} this hour, ` +
    `at most ${count(Math.max(...rows))} a minute`;
  show("rate-text", text);
  $("rate").setAttribute("aria-label", text);
}

const SHEET = {label: "Label", owner: "Owner", purpose: "Purpose", contact: "Contact"};

function labelsOf(r) {
  if (r.columns)
    return r.columns.map((c) => ["Label column", `${c.name}: from ${c.lower} to ${c.upper}, in steps of ${c.step}`]);
  if (r.classes) return [[r.answer === "classes" ? "Classes, counted" : "Classes", r.classes.join(", ")]];
  return [["Label values", `from ${r.lower} to ${r.upper}, in steps of ${r.step}`]];
}

function rulesOf(r) {
  return [
    ...Object.entries(SHEET).filter(([name]) => r.sheet[name]).map(([name, term]) => [term, r.sheet[name]]),
    ["Least rows in a bag", count(r.min_bag)],
    ["Noise", r.dp ? `ε = ${r.epsilon} (${r.epsilon_fraction})${r.rho ? ` at δ = ${r.delta}, Gaussian` : ""} per row`
                   : "none: no differential privacy"],
    ...labelsOf(r),
    ["Each label is used", "in one answer only"],
    ...(r.units ? [["Each unit is used", `in at most ${count(r.unit_rows)} bag${r.unit_rows > 1 ? "s" : ""}`]] : []),
  ];
}

// What the answers to a token can have cost one row, or one unit in all its bags.
function epsilonOf(t, r) {
  const answers = Math.min(t.rows_used, r.unit_rows), rho = (r.rho ?? 0) * answers;
  const epsilon = r.rho ? rho + 2 * Math.sqrt(rho * Math.log(1 / r.delta)) : r.epsilon * answers;
  return r.dp ? `${+epsilon.toPrecision(6)}` : "no noise";
}

function stateOf(t, now) {
  return t.state === "active" && t.expires && t.expires <= now ? "expired" : t.state;
}

function render(s) {
  const l = s.ledger, share = (n) => `${l.rows ? 100 * n / l.rows : 0}%`;
  for (const id of ["rows", "left", "spent", "forgotten", "answers", "bags", "entries"]) show(id, count(l[id]));
  $("meter-spent").style.width = share(l.spent - l.forgotten);
  $("meter-forgotten").style.width = share(l.forgotten);
  $("meter").setAttribute("aria-label", `${count(l.spent)} of ${count(l.rows)} rows are spent`);
  drawRate(s.rate);
  define("rules", rulesOf(s.rules));
  fill("tokens", s.tokens.map((t) => {
    const state = stateOf(t, s.time), asks = t.role === "learner";
    return [[t.name], [t.role], [t.created_by ?? ""], [t.approved_by ?? ""], [asks ? t.scope ?? "all rows" : ""],
      [asks ? count(t.rows_used) : "", "n"], [!asks ? "" : t.max_rows === null ? "any" : count(t.max_rows), "n"],
      [asks ? epsilonOf(t, s.rules) : "", "n"],
      [t.expires === null ? "never" : moment(t.expires)], [state, state === "active" ? "" : "revoked"]];
  }));
  fill("recent", s.recent.map((e) => [[count(e.number), "n"], [moment(e.time)], [e.kind], [e.token ?? ""],
    [count(e.rows), "n"], [count(e.bags), "n"], [e.request_id ?? ""]]));
  $("no-refusals").hidden = s.refused.length > 0;
  $("refusals-table").hidden = s.refused.length === 0;
  fill("refusals", s.refused.map((r) => [[r.token], [r.problem], [moment(r.hour).slice(0, 16)], [count(r.count), "n"],
    [moment(r.last)]]));
  show("head", l.head);
  show("store", l.store);
  show("version", s.version);
  show("started", moment(s.started));
  show("connections", count(s.connections));
  health(s.healthy, s.healthy ? `healthy at ${moment(s.time)}` : "the store is broken");
}

function health(good, text) {
  show("health", text);
  $("health").className = good ? "good" : "bad";
}

function enter(logged_in) {
  $("login").hidden = logged_in;
  $("state").hidden = !logged_in;
  $("logout").hidden = !logged_in;
  if (!logged_in) {
    show("health", "");
    $("token").focus();
  }
}

function leave(why) {
  clearTimeout(timer);
  sessionStorage.removeItem("token");
  show("refused", why);
  enter(false);
}

async function refresh() {
  clearTimeout(timer);
  const token = sessionStorage.getItem("token");
  if (!token) return leave("");
  try {
    const reply = await fetch("/v1/status", {headers: {Authorization: `Bearer ${token}`}, cache: "no-store"});
    if (sessionStorage.getItem("token") !== token) return;
    if (reply.status === 401 || reply.status === 403) return leave((await reply.json()).title + ".");
    if (!reply.ok) throw new Error(`status ${reply.status}`);
    const status = await reply.json();
    if (!status.ledger) return leave(`This token's role is ${status.token.role}; this page needs an operator's or an auditor's.`);
    render(status);
    enter(true);
  } catch (error) {
    health(false, `the oracle does not answer (${error.message}); what is below may be old`);
  }
  timer = setTimeout(refresh, REFRESH_MS);
}

$("login").querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value.trim());
  $("token").value = "";
  show("refused", "");
  refresh();
});
$("logout").addEventListener("click", () => leave(""));
document.addEventListener("visibilitychange", () => {
  if (document.hidden) clearTimeout(timer);
  else if (sessionStorage.getItem("token")) refresh();
});
if (sessionStorage.getItem("token")) refresh();
else enter(false);
