package clinigate.hapi;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** How this server is to behave, from system properties {@code -Dhapi.<name>=<value>}; README.md lists them. */
final class Options {
  private static final String PREFIX = "hapi.";
  private final Set<String> known = new HashSet<>();

  final String host = text("host", "127.0.0.1");
  /** 0 takes a free one. */
  final int port = number("port", 8080);
  /** Where links in answers point: {@code incoming} follows the Host header, {@code apache} X-Forwarded-*, else a base URL. */
  final String address = text("address", "incoming");
  final int threads = number("threads", 64);
  /** Ends this process when its standard input closes, so that a test runner that was killed leaves no server behind. */
  final boolean endWithParent = flag("end_with_parent", false);

  final String db = text("db", "jdbc:h2:mem:hapi;DB_CLOSE_DELAY=-1");
  final int pool = number("pool", 20);

  /** How often bulk jobs move on; HAPI's own 60,000 makes an export take minutes. */
  final int maintenanceMs = number("maintenance_ms", 500);
  /** How long an identical search is answered from the one before; 0 never. */
  final int searchReuseMs = number("search_reuse_ms", 60_000);
  final int defaultPage = number("default_page", 20);
  final int maxPage = number("max_page", 1000);

  final String clientIds = text("client_ids", "ALPHANUMERIC");
  final String serverIds = text("server_ids", "SEQUENTIAL_NUMERIC");
  final String tags = text("tags", "VERSIONED");

  final boolean externalReferences = flag("external_references", false);
  final boolean inlineMatchReferences = flag("inline_match_refs", true);
  /** Base URLs of which absolute references are stored as relative ones. */
  final Set<String> localBases = list("local_base");
  final boolean integrityOnWrite = flag("ri_write", true);
  final boolean integrityOnDelete = flag("ri_delete", true);

  final boolean cascade = flag("cascade", false);
  final boolean multipleDelete = flag("multiple_delete", false);
  final boolean expunge = flag("expunge", true);
  final boolean deleteExpunge = flag("delete_expunge", false);
  final boolean filter = flag("filter", true);
  final boolean graphql = flag("graphql", true);

  private Options() {}

  /** Refuses a property that it does not know: a misspelt one would test another server than the one meant. */
  static Options fromSystemProperties() {
    Options options = new Options();
    options.known.add("log"); // read by logback.xml
    for (String name : System.getProperties().stringPropertyNames()) {
      if (name.startsWith(PREFIX) && !options.known.contains(name.substring(PREFIX.length()))) {
        throw new IllegalArgumentException("Unknown option -D" + name);
      }
    }
    return options;
  }

  private String text(String name, String otherwise) {
    known.add(name);
    return System.getProperty(PREFIX + name, otherwise);
  }

  private int number(String name, int otherwise) {
    return Integer.parseInt(text(name, String.valueOf(otherwise)));
  }

  private boolean flag(String name, boolean otherwise) {
    String value = text(name, String.valueOf(otherwise));
    if (!value.equals("true") && !value.equals("false")) {
      throw new IllegalArgumentException("-D" + PREFIX + name + " is true or false");
    }
    return value.equals("true");
  }

  private Set<String> list(String name) {
    String value = text(name, "");
    return value.isEmpty() ? Set.of() : new HashSet<>(Arrays.asList(value.split(",")));
  }
}
