import clinigate.hapi.Launcher;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.yaml.snakeyaml.Yaml;

/**
 * Starts the HAPI FHIR server of the tests with the settings of the official image: application.yaml in the folder that
 * SPRING_CONFIG_ADDITIONAL_LOCATION names, files of the folders that it imports, and variables. A setting that neither
 * list below has is refused: it would be tried nowhere.
 */
public final class Hapi {
  /** By their names in the official image, what the launcher calls them. */
  private static final Map<String, String> OPTIONS = Map.ofEntries(
      Map.entry("spring.datasource.hikari.maximum-pool-size", "pool"),
      Map.entry("hapi.fhir.server_id_strategy", "server_ids"),
      Map.entry("hapi.fhir.client_id_strategy", "client_ids"),
      Map.entry("hapi.fhir.enforce_referential_integrity_on_write", "ri_write"),
      Map.entry("hapi.fhir.enforce_referential_integrity_on_delete", "ri_delete"),
      Map.entry("hapi.fhir.allow_external_references", "external_references"),
      Map.entry("hapi.fhir.allow_multiple_delete", "multiple_delete"),
      Map.entry("hapi.fhir.allow_cascading_deletes", "cascade"),
      Map.entry("hapi.fhir.delete_expunge_enabled", "delete_expunge"),
      Map.entry("hapi.fhir.expunge_enabled", "expunge"),
      Map.entry("hapi.fhir.reuse_cached_search_results_millis", "search_reuse_ms"),
      Map.entry("hapi.fhir.graphql_enabled", "graphql"),
      Map.entry("hapi.fhir.filter_search_enabled", "filter"));

  /** What the launcher has no choice of: it has bulk jobs always, and the other parts never. */
  private static final List<String> WITHOUT_CHOICE = List.of(
      "spring.config.import",
      "spring.datasource.driverClassName",
      "spring.jpa.properties.hibernate.dialect",
      "spring.jpa.properties.hibernate.search.enabled",
      "hapi.fhir.fhir_version",
      "hapi.fhir.auto_create_placeholder_reference_targets",
      "hapi.fhir.bulk_export_enabled",
      "hapi.fhir.bulk_import_enabled",
      "hapi.fhir.fhirpath_interceptor_enabled",
      "hapi.fhir.openapi_enabled",
      "hapi.fhir.mdm_enabled",
      "hapi.fhir.cr_enabled",
      "hapi.fhir.ips_enabled",
      "hapi.fhir.ig_runtime_upload_enabled",
      "hapi.fhir.subscription.resthook_enabled",
      "hapi.fhir.subscription.websocket_enabled",
      "hapi.fhir.default_pretty_print",
      "hapi.fhir.narrative_enabled");

  private static final List<String> DATASOURCE =
      List.of("spring.datasource.url", "spring.datasource.username", "spring.datasource.password");

  private Hapi() {}

  public static void main(String[] arguments) throws IOException {
    Map<String, String> settings = readSettings();
    for (String name : settings.keySet()) {
      if (!OPTIONS.containsKey(name) && !WITHOUT_CHOICE.contains(name) && !DATASOURCE.contains(name)) {
        throw new IllegalArgumentException("test/containers/stand-ins/Hapi.java does not know the setting " + name);
      }
    }
    System.setProperty("hapi.host", "0.0.0.0");
    String url = settings.get("spring.datasource.url");
    if (url != null) {
      System.setProperty("hapi.db", url + "?user=" + settings.get("spring.datasource.username")
          + "&password=" + settings.get("spring.datasource.password"));
    }
    OPTIONS.forEach((name, option) -> {
      if (settings.containsKey(name)) System.setProperty("hapi." + option, settings.get(name));
    });
    Launcher.main(arguments);
  }

  private static Map<String, String> readSettings() throws IOException {
    Map<String, String> settings = new TreeMap<>();
    String location = System.getenv("SPRING_CONFIG_ADDITIONAL_LOCATION");
    if (location != null) {
      String file = location.replaceFirst("^file:", "") + "application.yaml";
      flatten("", new Yaml().load(Files.readString(Path.of(file))), settings);
    }
    String tree = settings.getOrDefault("spring.config.import", "");
    if (tree.startsWith("configtree:")) {
      try (var files = Files.list(Path.of(tree.substring("configtree:".length())))) {
        for (Path file : files.filter(Files::isRegularFile).toList()) {
          settings.put(file.getFileName().toString(), Files.readString(file));
        }
      }
    }
    System.getenv().forEach((name, value) -> {
      if (name.startsWith("SPRING_DATASOURCE_")) settings.put(name.toLowerCase().replace('_', '.'), value);
      if (name.startsWith("hapi.fhir.")) settings.put(name, value);
    });
    return settings;
  }

  private static void flatten(String name, Object value, Map<String, String> settings) {
    if (value instanceof Map<?, ?> parts) {
      parts.forEach((key, part) -> flatten(name.isEmpty() ? key.toString() : name + "." + key, part, settings));
    } else {
      settings.put(name, String.valueOf(value));
    }
  }
}
