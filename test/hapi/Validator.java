import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.context.support.DefaultProfileValidationSupport;
import ca.uhn.fhir.validation.FhirValidator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.hl7.fhir.common.hapi.validation.support.CommonCodeSystemsTerminologyService;
import org.hl7.fhir.common.hapi.validation.support.InMemoryTerminologyServerValidationSupport;
import org.hl7.fhir.common.hapi.validation.support.ValidationSupportChain;
import org.hl7.fhir.common.hapi.validation.validator.FhirInstanceValidator;
import org.hl7.fhir.r5.utils.validation.constants.BestPracticeWarningLevel;

/**
 * HAPI's validator without a network: reads a resource a line and answers each with a line, the list of its issues.
 * Errors are what contradicts R4; profiles and code systems that R4 does not bring are unknown and no errors.
 */
public final class Validator {
  public static void main(String[] arguments) throws Exception {
    var output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    // What libraries print is no answer.
    System.setOut(System.err);
    var validator = validator();
    var json = new ObjectMapper();
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = input.readLine()) != null; ) {
      var issues = validator.validateWithResult(line).getMessages().stream()
          .map(message -> Map.of(
              "severity", message.getSeverity().getCode(),
              "location", String.valueOf(message.getLocationString()),
              "code", String.valueOf(message.getMessageId()),
              "message", message.getMessage()))
          .toList();
      output.println(json.writeValueAsString(issues));
    }
  }

  private static FhirValidator validator() {
    var context = FhirContext.forR4();
    var support = new ValidationSupportChain(
        new DefaultProfileValidationSupport(context),
        new CommonCodeSystemsTerminologyService(context),
        new InMemoryTerminologyServerValidationSupport(context));
    var instances = new FhirInstanceValidator(support);
    instances.setAnyExtensionsAllowed(true);
    instances.setBestPracticeWarningLevel(BestPracticeWarningLevel.Ignore);
    return context.newValidator().registerValidatorModule(instances);
  }
}
