"""What the fuzzer asks of every answer beside its own checks."""

import re
from datetime import date
from urllib.parse import unquote

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance

# What makes a request wrong that no schema can tell: what is stored, what was sent before, and rules between fields.
BEYOND_SCHEMAS = {"INVALID_CURSOR", "CONFLICT", "PRECONDITION_FAILED", "IDEMPOTENCY_KEY_REUSED"}
ISSUES_BEYOND_SCHEMAS = {"not-found", "invariant", "processing"}
# Which of them go together, and what FHIR has search parameters for.
PARAMETERS_BEYOND_SCHEMAS = {"query", "_include", "_revinclude"}
# The fuzzer writes the two headers in forms of its own; the rest the document says in words alone.
WORDS_BEYOND_SCHEMAS = ("If-Match: expected", "If-None-Match: expected", "check digit", "send at most one of", "not together with", "the name __proto__")


@schemathesis.check
def accepts_what_the_document_allows(ctx, response, case):
    """A request that the document allows is refused only for what no schema can tell."""
    if response.status_code in (400, 409, 412, 422) and is_beyond_schemas(response, case):
        return None
    return positive_data_acceptance(ctx, response, case)


def is_beyond_schemas(response, case) -> bool:
    failure = response.json()
    issues = failure["issues"]
    codes = {issue["code"] for issue in issues}
    fields = {field for issue in issues for field in issue.get("expression", [])}
    return bool(
        failure["code"] in BEYOND_SCHEMAS
        or codes & ISSUES_BEYOND_SCHEMAS
        or fields & PARAMETERS_BEYOND_SCHEMAS
        or any(words in response.text for words in WORDS_BEYOND_SCHEMAS)
        # What a merge leaves of an object is checked, and not what it sends.
        or (case.method == "PATCH" and ("required" in codes or "expected an object with" in response.text))
        # So is what a JSON Patch makes of the record: its paths and values are said in words alone.
        or (case.method == "PATCH" and isinstance(case.body, list))
        # The fuzzer joins values by commas, and does not escape those within one.
        or "%2C" in response.request.url
        or any(not is_on_calendar(*day) for day in days_in(response.request))
    )


def days_in(request):
    body = request.body or b""
    text = unquote(request.url) + (body if isinstance(body, str) else body.decode(errors="replace"))
    return re.findall(r"(\d{4})-(\d\d)-(\d\d)", text)


def is_on_calendar(year: str, month: str, day: str) -> bool:
    try:
        return bool(date(int(year), int(month), int(day)))
    except ValueError:
        return False


@schemathesis.check
def tells_what_it_answers(ctx, response, case):
    """Every envelope has the status and the request's id, the same as the head of the answer."""
    if response.headers.get("content-type") != ["application/json; charset=utf-8"] or case.path == "/openapi.json":
        return None
    meta = response.json()["meta"]
    assert meta["status"] == response.status_code, "The envelope has another status"
    assert [meta["requestId"]] == response.headers["x-request-id"], "The envelope has another request id"
    return None
