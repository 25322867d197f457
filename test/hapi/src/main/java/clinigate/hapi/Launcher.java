package clinigate.hapi;

import ca.uhn.fhir.batch2.jobs.config.Batch2JobsConfig;
import ca.uhn.fhir.jpa.api.config.ThreadPoolFactoryConfig;
import ca.uhn.fhir.jpa.batch2.JpaBatch2Config;
import ca.uhn.fhir.jpa.config.HapiJpaConfig;
import ca.uhn.fhir.jpa.config.r4.JpaR4Config;
import ca.uhn.fhir.jpa.subscription.channel.config.SubscriptionChannelConfig;
import ca.uhn.fhir.jpa.subscription.submit.config.SubscriptionSubmitterConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/** A HAPI FHIR R4 JPA server in one process. Prints {@code READY <base URL>} on standard output when it serves. */
public final class Launcher {
  private static final Class<?>[] CONFIGURATION = {
    Settings.class,
    Storage.class,
    JpaR4Config.class,
    HapiJpaConfig.class,
    ThreadPoolFactoryConfig.class,
    JpaBatch2Config.class,
    Batch2JobsConfig.class,
    SubscriptionSubmitterConfig.class,
    SubscriptionChannelConfig.class, // holds the in-memory queue of the bulk jobs
  };

  private Launcher() {}

  public static void main(String[] arguments) {
    try {
      serve();
    } catch (Exception failure) {
      failure.printStackTrace();
      System.exit(1);
    }
  }

  private static void serve() throws Exception {
    Options options = Options.fromSystemProperties();
    if (options.endWithParent) endWhenInputCloses();
    var beans = new AnnotationConfigApplicationContext();
    beans.registerBean(Options.class, () -> options);
    beans.register(CONFIGURATION);
    beans.refresh();
    Web web = new Web(new Rest(beans, options).servlet(), options);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(web, beans)));
    System.out.println("READY " + web.start());
  }

  private static void stop(Web web, AnnotationConfigApplicationContext beans) {
    try {
      web.stop();
    } catch (Exception failure) {
      failure.printStackTrace();
    }
    beans.close();
  }

  private static void endWhenInputCloses() {
    Thread watcher = new Thread(() -> {
      try (InputStream input = System.in) {
        input.transferTo(OutputStream.nullOutputStream());
      } catch (IOException closed) {
        // An input that cannot be read any more is as good as closed.
      }
      System.exit(0);
    }, "end-with-parent");
    watcher.setDaemon(true);
    watcher.start();
  }
}
