#!/usr/bin/env python3
"""The OpenAPI description is true: every address it names is there as described, and no other."""

import os
import pathlib
import re
import unittest

from service import BINARY, Case

TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}


def violations(value, schema, document, where="$"):
    """What in the value is against the schema: the part of JSON Schema that the description uses."""
    known = {"$ref", "type", "enum", "anyOf", "properties", "required", "additionalProperties", "items", "minItems",
             "maxItems", "minLength", "maxLength", "minimum", "pattern", "description", "format"}
    assert set(schema) <= known, f"{where}: the test does not know {set(schema) - known}"
    if "$ref" in schema:
        target = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        yield from violations(value, target, document, where)
        return
    if "anyOf" in schema and all(list(violations(value, s, document)) for s in schema["anyOf"]):
        yield f"{where}: {value!r} is none of what it may be"
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(isinstance(value, TYPES[k]) and not (isinstance(value, bool) and k != "boolean") for k in kinds):
        yield f"{where}: {value!r} is no {kinds}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is not listed"
    if isinstance(value, str):
        if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
            yield f"{where}: length {len(value)}"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where}: {value!r} does not match"
    if isinstance(value, (int, float)) and value < schema.get("minimum", value):
        yield f"{where}: {value} is too small"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: {len(value)} items"
        for n, item in enumerate(value):
            yield from violations(item, schema.get("items", {}), document, f"{where}[{n}]")
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where}: {name} is missing"
        for name, member in value.items():
            if name in properties:
                yield from violations(member, properties[name], document, f"{where}.{name}")
            elif more is False:
                yield f"{where}: {name} is not described"
            elif isinstance(more, dict):
                yield from violations(member, more, document, f"{where}.{name}")


class OpenApi(Case):
    def check(self, service, method, path, template=None, status=200, **request):
        """Sends the request; what comes back must be described under its status and type."""
        reply = service.send(method.upper(), path, **request)
        self.assertEqual(reply.status, status, reply.body)
        described = self.document["paths"][template or path][method]["responses"]
        self.assertIn(str(status), described, f"{method} {path}")
        response = described[str(status)]
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].split("/")[-1]]
        self.assertIn(reply.type, response["content"], f"{method} {path}")
        schema = response["content"][reply.type]["schema"]
        if reply.type.endswith("json"):
            self.assertEqual(list(violations(reply.json(), schema, self.document)), [], f"{method} {path}")
        self.seen.add((method, template or path, str(status)))
        return reply

    def test_it_is_true(self):
        self.seen = set()
        with self.serve("--max-body", "4000", "--refusal-rows", "12", min_bag=3,
                        tokens=["small:learner:0:3:", "auditor:auditor:0:0:", "approver:approver:0:0:", "new:learner:0:0::pending"],
                        rows=[(i, i % 2, f"u{i // 2}") for i in range(200)], unit_rows=1) as service:
            self.document = service.get("/v1/openapi.json").json()
            self.assertTrue(self.document["openapi"].startswith("3.1"))
            learner, operator = self.token["learner"], self.token["operator"]
            check = lambda *a, **k: self.check(service, *a, **k)
            question = {"request_id": "q", "bags": [["0", "2", "4"], ["6", "8", "10", "12"]]}
            self.assertEqual(list(violations(question, {"$ref": "#/components/schemas/Question"}, self.document)), [])
            answer = check("post", "/v1/queries", body=question, token=learner).json()
            one = "/v1/queries/{request_id}"
            check("get", "/v1/queries/q", one, token=learner)
            check("get", "/v1/queries/none", one, 404, token=learner)
            check("get", "/v1/queries/q", one, 401)
            check("get", "/v1/queries/q", one, 403, token=operator)
            for bags, status in (([["20"]], 422), ([["20", "22", "x"]], 422), ([["20", "22", "20"]], 422),
                                 ([["20", "21", "22"]], 422), ([["0", "22", "24"]], 409), ([["1", "22", "24"]], 409)):
                check("post", "/v1/queries", status=status, token=learner, body={"request_id": "r", "bags": bags})
            check("post", "/v1/queries", status=409, token=learner, body={"request_id": "q", "bags": [["20", "22", "24"]]})
            check("post", "/v1/queries", status=409, token=learner,
                  body={"request_id": "r", "bags": [["20", "22", "24"]], "head": "0" * 64})
            check("post", "/v1/queries", status=403, token=self.token["small"],
                  body={"request_id": "r", "bags": [["20", "22", "24", "26"]], "head": answer["head"]})
            for _ in range(12):
                service.ask(self.token["small"], "r", [["20"]])
            check("post", "/v1/queries", status=429, token=self.token["small"], body={"request_id": "r", "bags": [["20"]]})
            check("post", "/v1/queries", status=400, token=learner, body={"bags": []})
            check("post", "/v1/queries", status=401, token="wrong", body={})
            check("post", "/v1/queries", status=403, token=operator, body={})
            check("post", "/v1/queries", status=413, token=learner, body=b" " * 5000)
            check("post", "/v1/queries", status=415, token=learner, body=b"x", type="text/plain")
            rows = check("post", "/v1/available", body={"rows": ["0", "1", "20", "zz"]}, token=learner)
            self.assertEqual(rows.json(), {"available": ["20"]})
            for status, request in ((400, {"body": {}}), (413, {"body": b" " * 5000}), (415, {"body": b"", "type": BINARY})):
                check("post", "/v1/available", status=status, token=learner, **request)
            check("post", "/v1/available", status=401, body={})
            check("post", "/v1/available", status=403, body={}, token=operator)
            for path in ("/v1/config", "/v1/status"):
                check("get", path, token=learner)
                check("get", path, token=operator)
                check("get", path, status=401)
            auditor, approver = self.token["auditor"], self.token["approver"]
            page, approval = "/v1/audit/{first}", "/v1/approvals/{name}"
            check("get", "/v1/audit/0", page, token=auditor)
            check("get", "/v1/audit/0", page, 401)
            check("get", "/v1/audit/0", page, 403, token=learner)
            check("get", "/v1/audit/x", page, 404, token=auditor)
            for name, token, status in (("new", approver, 200), ("new", approver, 409), ("who", approver, 404),
                                        ("new", operator, 403), ("new", None, 401)):
                check("post", f"/v1/approvals/{name}", approval, status, token=token)
            for path in ("/v1/openapi.json", "/healthz", "/readyz", "/", "/page.css", "/page.js", "/icon.svg"):
                check("get", path)
            check("get", "/metrics", token=operator)
            check("get", "/metrics", status=401)
            check("get", "/metrics", status=403, token=learner)
            for path, methods in self.document["paths"].items():
                for method in methods:
                    if "requestBody" not in methods[method]:
                        check(method, path, path, 413, headers={"Content-Length": "1"})
                        check(method, path, path, 400, headers={"Transfer-Encoding": "identity"})
            self.check_complete()
            self.check_methods(service)

    def check_complete(self):
        """All that is described was seen, but for what only a failing or busy machine shows."""
        described = {(method, path, status) for path, methods in self.document["paths"].items()
                     for method, operation in methods.items() for status in operation["responses"]}
        rare = {(m, p, s) for m, p, s in described if s in ("429", "503") or (s == "403" and p in ("/v1/config", "/v1/status"))}
        self.assertEqual(described - (rare - self.seen), self.seen)

    def check_methods(self, service):
        """Other methods are refused; the source has no route beside those described."""
        for path, methods in self.document["paths"].items():
            for method in ("get", "post", "put", "delete", "patch"):
                if method not in methods:
                    reply = service.send(method.upper(), re.sub("{[a-z_]+}", "x", path))
                    self.assertEqual(reply.status, 405, f"{method} {path}")
        source = pathlib.Path(os.environ["SOURCE"], "src/server/routes.c").read_text()
        routes = {(method.lower(), re.sub("(?<=.)/$", "/{}", path))
                  for method, path in re.findall(r'\{"([A-Z]+)",\s+"([^"]+)"', source)}
        self.assertEqual(routes, {(m, re.sub("{[a-z_]+}", "{}", p)) for p, methods in self.document["paths"].items() for m in methods})
        ledger = pathlib.Path(os.environ["SOURCE"], "src/ledger/rules.c").read_text()
        problems = set(re.findall(r'\{PBOOST_PROBLEM_[A-Z_]+,\s*"([a-z-]+)"', ledger)) - {"none"}
        listed = set(self.document["components"]["schemas"]["Problem"]["properties"]["problem"]["enum"])
        self.assertGreater(len(problems), 10)
        self.assertLessEqual(problems, listed)
        audit = pathlib.Path(os.environ["SOURCE"], "src/ledger/audit.c").read_text()
        kinds = self.document["components"]["schemas"]["Entry"]["properties"]["kind"]["enum"]
        self.assertEqual(set(re.findall(r'{"([a-z-]+)", (?:pboost_)?audit_', audit)), set(kinds))


if __name__ == "__main__":
    unittest.main()
