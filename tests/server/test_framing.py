#!/usr/bin/env python3
"""Where a request ends must have one answer: whatever has two is refused, and the connection closed.

Sent byte by byte over a plain socket; every request is followed by another one, which a service that
was confused would answer.
"""

import socket
import unittest

from service import Case

BODY = b'{"request_id":"a","bags":[["1","2"]]}'
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
NEXT = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

# What stands in the header beside Host, Authorization and Content-Type, and what follows it.
REFUSED = {
    "both framings": (LENGTH + b"Transfer-Encoding: chunked\r\n", CHUNKED),
    "both framings, the other way round": (b"Transfer-Encoding: chunked\r\n" + LENGTH, CHUNKED),
    "two lengths": (LENGTH + b"Content-Length: 5\r\n", BODY),
    "two equal lengths": (LENGTH + LENGTH, BODY),
    "a list of lengths": (b"Content-Length: %d, %d\r\n" % (len(BODY), len(BODY)), BODY),
    "a length with a sign": (b"Content-Length: +%d\r\n" % len(BODY), BODY),
    "a negative length": (b"Content-Length: -1\r\n", BODY),
    "a length in hexadecimal": (b"Content-Length: 0x25\r\n", BODY),
    "a length and a letter": (b"Content-Length: %dx\r\n" % len(BODY), BODY),
    "no length": (b"Content-Length:\r\n", BODY),
    "a length beyond 64 bits": (b"Content-Length: 99999999999999999999999\r\n", BODY),
    "a blank before the colon": (b"Content-Length : %d\r\n" % len(BODY), BODY),
    "a tab before the colon": (b"Transfer-Encoding\t: chunked\r\n", CHUNKED),
    "a blank before the name": (b" Content-Length: %d\r\n" % len(BODY), BODY),
    "a length that goes on in the next line": (b"Content-Length: 3\r\n 7\r\n", BODY),
    "a name that goes on in the next line": (b"X: a\r\n Transfer-Encoding: chunked\r\n", CHUNKED),
    "an encoding that goes on in the next line": (b"Transfer-Encoding:\r\n chunked\r\n", CHUNKED),
    "another line's end": (b"X: a\rTransfer-Encoding: chunked\r\n", CHUNKED),
    "a control character": (b"X: a\x01b\r\n" + LENGTH, BODY),
    "a line without a colon": (b"Transfer-Encoding\r\n" + LENGTH, BODY),
    "an empty name": (b": x\r\n" + LENGTH, BODY),  # libmicrohttpd takes it for the header's end
    "two encodings": (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", CHUNKED),
    "a list of encodings": (b"Transfer-Encoding: gzip, chunked\r\n", CHUNKED),
    "no encoding": (b"Transfer-Encoding: identity\r\n", BODY),
    "an unknown encoding": (b"Transfer-Encoding: xchunked\r\n", CHUNKED),
    "an encoding in quotes": (b'Transfer-Encoding: "chunked"\r\n', CHUNKED),
    "an encoding and a tab": (b"Transfer-Encoding: chunked\x0b\r\n", CHUNKED),
    "two hosts": (b"Host: y\r\n" + LENGTH, BODY),
    "a chunk's size with a sign": (b"Transfer-Encoding: chunked\r\n", b"+25" + CHUNKED[2:]),
    "a chunk's size as a program writes it": (b"Transfer-Encoding: chunked\r\n", b"0x25" + CHUNKED[2:]),
    "a chunk that is longer than it says": (b"Transfer-Encoding: chunked\r\n", b"5" + CHUNKED[2:]),
    "a chunk's size beyond 64 bits": (b"Transfer-Encoding: chunked\r\n", b"1" + b"0" * 16 + CHUNKED[2:]),
}


class Framing(Case):
    def exchange(self, service, request):
        """All that comes back, and whether the service closed the connection."""
        with socket.create_connection(service.address, 5) as connection:
            connection.sendall(request)
            got = b""
            try:
                while True:
                    piece = connection.recv(65536)
                    if not piece:
                        return got, True
                    got += piece
                    if got.count(b"HTTP/1.1 ") == 2 and got.endswith(b"ok\n"):
                        return got, False
            except ConnectionResetError:
                return got, True
            except TimeoutError:
                return got, False

    def request(self, header, body, method=b"POST", path=b"/v1/queries", version=b"HTTP/1.1"):
        return (method + b" " + path + b" " + version + b"\r\nHost: x\r\n" + header
                + b"Authorization: Bearer " + self.token["learner"].encode()
                + b"\r\nContent-Type: application/json\r\n\r\n" + body)

    def check_refused(self, service, name, request):
        got, closed = self.exchange(service, request + NEXT)
        with self.subTest(name):
            self.assertTrue(closed, got)
            self.assertNotIn(b" 200 OK", got)
            self.assertRegex(got, rb"^(HTTP/1\.1 4(00|13|15) |$)")

    def test_what_has_two_readings_is_refused(self):
        with self.serve("--insecure-http", listen="127.0.0.1:0") as service:
            for name, (header, body) in REFUSED.items():
                self.check_refused(service, name, self.request(header, body))
            self.check_refused(service, "chunked in HTTP/1.0",
                               self.request(b"Transfer-Encoding: chunked\r\n", CHUNKED, version=b"HTTP/1.0"))
            self.check_refused(service, "no body, and a control character", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: \x01\r\n\r\n")
            self.check_refused(service, "no host", b"GET /healthz HTTP/1.1\r\n\r\n")
            self.assertEqual(service.get("/v1/status", token=self.token["operator"]).json()["ledger"]["spent"], 0)

    def test_no_body_where_none_is_taken(self):
        """Refused before it comes in: only the header is sent."""
        with self.serve("--insecure-http", listen="127.0.0.1:0") as service:
            for path in (b"/healthz", b"/readyz", b"/metrics", b"/", b"/v1/openapi.json", b"/v1/config", b"/v1/queries/a"):
                for header in (b"Content-Length: 1000\r\n", b"Transfer-Encoding: chunked\r\n"):
                    got, closed = self.exchange(service, self.request(header, b"", b"GET", path))
                    with self.subTest(path=path, header=header):
                        self.assertTrue(closed, got)
                        self.assertRegex(got, rb"^HTTP/1\.1 413 ")
                        self.assertIn(b"takes no body", got)

    def test_what_has_one_reading_is_answered(self):
        with self.serve("--insecure-http", listen="127.0.0.1:0") as service:
            for header, body in ((LENGTH, BODY), (b"Transfer-Encoding: chunked\r\n", CHUNKED),
                                 (b"transfer-encoding:Chunked\r\n", CHUNKED), (b"CONTENT-LENGTH:\t%d\r\n" % len(BODY), BODY),
                                 (b"X-Empty:\r\nX-Latin: \xe4\r\n" + LENGTH, BODY)):
                got, closed = self.exchange(service, self.request(header, body) + NEXT)
                with self.subTest(header):
                    self.assertEqual((got.count(b"HTTP/1.1 200 OK"), closed), (2, False), got)
            got, _ = self.exchange(service, self.request(b"Content-Length: 0\r\n", b"", b"GET", b"/healthz") + NEXT)
            self.assertEqual(got.count(b"HTTP/1.1 200 OK"), 2, got)


if __name__ == "__main__":
    unittest.main()
