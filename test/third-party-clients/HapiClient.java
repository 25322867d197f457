import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.rest.client.api.IGenericClient;
import ca.uhn.fhir.rest.client.interceptor.SimpleRequestHeaderInterceptor;
import ca.uhn.fhir.rest.server.exceptions.BaseServerResponseException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.hl7.fhir.r4.model.*;

/** What HAPI's generic client sees of the gateway, printed as JSON: see client-contract.ts. Arguments: the base URL and the key. */
class HapiClient {
  public static void main(String[] arguments) {
    String base = arguments[0];
    IGenericClient client = FhirContext.forR4().newRestfulGenericClient(base);
    client.registerInterceptor(new SimpleRequestHeaderInterceptor("x-api-key", arguments[1]));

    String mrn = UUID.randomUUID().toString();
    Patient created = (Patient) client.create().resource(patient(mrn)).execute().getResource();
    IdType id = created.getIdElement().toUnqualifiedVersionless();
    Patient read = client.read().resource(Patient.class).withId(id).execute();
    var again = client.create().resource(patient(mrn)).conditional().where(Patient.IDENTIFIER.exactly().systemAndIdentifier("http://mrn", mrn)).execute();

    // The client makes If-Match of the version in the id.
    Patient change = patient(mrn).setActive(true);
    change.setId(id.withVersion("1"));
    var updated = client.update().resource(change).execute();
    int stale = statusOf(() -> client.update().resource(change).execute());
    Patient patched = (Patient) client.patch().withBody("[{\"op\":\"replace\",\"path\":\"/gender\",\"value\":\"other\"}]").withId(id).execute().getResource();
    Bundle history = client.history().onInstance(id).returnBundle(Bundle.class).execute();

    Bundle asked = transaction();
    Bundle written = client.transaction().withBundle(asked).execute();
    String observation = locationOf(written, 0);
    String subject = client.read().resource(Observation.class).withId(observation).execute().getSubject().getReference();

    Set<String> found = new HashSet<>();
    Bundle page = client.search().forResource(Patient.class).where(Patient.FAMILY.matches().value("Many")).count(10).returnBundle(Bundle.class).execute();
    while (page != null) {
      page.getEntry().forEach(entry -> found.add(entry.getResource().getIdElement().getIdPart()));
      page = page.getLink(Bundle.LINK_NEXT) == null ? null : client.loadPage().next(page).execute();
    }

    client.delete().resourceById(id).execute();
    int deleted = statusOf(() -> client.read().resource(Patient.class).withId(id).execute());

    System.out.printf(
        "{\"createdVersion\":\"%s\",\"readFamily\":\"%s\",\"isSameRecord\":%s,\"updatedVersion\":\"%s\",\"staleStatus\":%d,\"patchedGender\":\"%s\",\"historyVersions\":[%s],\"writtenStatuses\":[%s],\"isSubjectFirst\":%s,\"found\":%d,\"deletedStatus\":%d}%n",
        created.getIdElement().getVersionIdPart(), read.getNameFirstRep().getFamily(), again.getId().getIdPart().equals(id.getIdPart()) && !Boolean.TRUE.equals(again.getCreated()),
        updated.getId().getVersionIdPart(), stale, patched.getGender().toCode(),
        quoted(history.getEntry().stream().map(entry -> entry.getResource().getMeta().getVersionId()).collect(Collectors.toList())),
        quoted(written.getEntry().stream().map(entry -> entry.getResponse().getStatus()).collect(Collectors.toList())),
        subject.equals(locationOf(written, 1)), found.size(), deleted);
  }

  private static Patient patient(String mrn) {
    Patient patient = new Patient();
    patient.addIdentifier().setSystem("http://mrn").setValue(mrn);
    patient.addName().setFamily("Byron");
    return patient.setGender(Enumerations.AdministrativeGender.FEMALE);
  }

  private static Bundle transaction() {
    Bundle bundle = new Bundle().setType(Bundle.BundleType.TRANSACTION);
    String first = "urn:uuid:" + UUID.randomUUID();
    Observation about = new Observation().setStatus(Observation.ObservationStatus.FINAL).setSubject(new Reference(first));
    about.getCode().setText("x");
    bundle.addEntry().setResource(about).getRequest().setMethod(Bundle.HTTPVerb.POST).setUrl("Observation");
    for (int i = 0; i < 45; i++) {
      Patient patient = new Patient();
      patient.addName().setFamily("Many");
      bundle.addEntry().setFullUrl(i == 0 ? first : "urn:uuid:" + UUID.randomUUID()).setResource(patient).getRequest().setMethod(Bundle.HTTPVerb.POST).setUrl("Patient");
    }
    return bundle;
  }

  private static String locationOf(Bundle written, int at) {
    return new IdType(written.getEntry().get(at).getResponse().getLocation()).toUnqualifiedVersionless().getValue();
  }

  private static int statusOf(Runnable request) {
    try {
      request.run();
      return 200;
    } catch (BaseServerResponseException refused) {
      return refused.getStatusCode();
    }
  }

  private static String quoted(List<String> texts) {
    return texts.stream().map(text -> "\"" + text + "\"").collect(Collectors.joining(","));
  }
}
