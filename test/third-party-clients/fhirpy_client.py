"""What fhirpy sees of the gateway, printed as JSON: see client-contract.ts. Arguments: the base URL and the key."""
import json
import sys
from uuid import uuid4

from fhirpy import SyncFHIRClient
from fhirpy.base.exceptions import MultipleResourcesFound, ResourceNotFound

base, key = sys.argv[1:]


def client_with(**headers):
    """fhirpy has its headers from the client; the client is what a conditional request differs in."""
    return SyncFHIRClient(base, extra_headers={"x-api-key": key, **headers})


client = client_with()
mrn = str(uuid4())
content = {"identifier": [{"system": "http://mrn", "value": mrn}], "gender": "female", "name": [{"family": "Byron"}]}

patient = client.resource("Patient", **content)
patient.save()
created_version = patient["meta"]["versionId"]
read = client.reference("Patient", patient.id).to_resource()

again = client_with(**{"If-None-Exist": f"identifier=http://mrn|{mrn}"}).resource("Patient", **content)
again.save()

versioned = client_with(**{"If-Match": 'W/"1"'})
updated = versioned.resource("Patient", id=patient.id, active=True, **content)
updated.save()
updated_version = updated["meta"]["versionId"]
try:
    versioned.resource("Patient", id=patient.id, active=False, **content).save()
    stale_status = 200
except MultipleResourcesFound:
    # So fhirpy calls every 412.
    stale_status = 412

# Its own patch sends a JSON Merge Patch, which R4 has not; what it has of a version is refreshed by If-None-Match.
patient.refresh()
patient["gender"] = "other"
patient.save()
patient.refresh()
assert patient["gender"] == "other" and patient["active"], "the refreshed record is not the newest"

history = client.execute(f"Patient/{patient.id}/_history", method="get")

urns = [f"urn:uuid:{uuid4()}" for _ in range(45)]
many = [
    {"fullUrl": urn, "resource": {"resourceType": "Patient", "name": [{"family": "Many"}]}, "request": {"method": "POST", "url": "Patient"}}
    for urn in urns
]
about = {"resourceType": "Observation", "status": "final", "code": {"text": "x"}, "subject": {"reference": urns[0]}}
bundle = client.resource("Bundle", type="transaction", entry=[{"resource": about, "request": {"method": "POST", "url": "Observation"}}, *many])
written = client.execute("", data=bundle.serialize())
observation, first = [entry.response.location.removeprefix(f"{base}/").split("/_history/")[0] for entry in written.entry[:2]]
subject = client.reference(reference=observation).to_resource()["subject"]["reference"]

found = {record.id for record in client.resources("Patient").search(family="Many").limit(10)}

patient.delete()
try:
    client.reference("Patient", patient.id).to_resource()
    deleted_status = 200
except ResourceNotFound:
    deleted_status = 404

print(json.dumps({
    "createdVersion": created_version,
    "readFamily": read["name"][0]["family"],
    "isSameRecord": again.id == patient.id,
    "updatedVersion": updated_version,
    "staleStatus": stale_status,
    "patchedGender": None,
    "historyVersions": [entry.resource.meta.versionId for entry in history.entry],
    "writtenStatuses": [entry.response.status for entry in written.entry],
    "isSubjectFirst": subject == first,
    "found": len(found),
    "deletedStatus": deleted_status,
}))
