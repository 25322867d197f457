package clinigate.hapi;

import jakarta.servlet.http.HttpServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** Jetty with one servlet at {@code /fhir}. */
final class Web {
  private final Server server;
  private final ServerConnector connector;
  private final String host;

  Web(HttpServlet fhir, Options options) {
    host = options.host;
    server = new Server(new QueuedThreadPool(options.threads));
    connector = new ServerConnector(server, new HttpConnectionFactory(http()));
    connector.setHost(options.host);
    connector.setPort(options.port);
    server.addConnector(connector);
    server.setHandler(at("/fhir/*", fhir));
  }

  /** @return the base URL that is served from now on. */
  String start() throws Exception {
    server.start();
    return "http://" + host + ":" + connector.getLocalPort() + "/fhir";
  }

  void stop() throws Exception {
    server.stop();
  }

  private static HttpConfiguration http() {
    HttpConfiguration http = new HttpConfiguration();
    // FHIR clients send a raw | in _tag=system|code, which Jetty refuses otherwise.
    http.setUriCompliance(UriCompliance.LEGACY);
    return http;
  }

  private static ServletContextHandler at(String path, HttpServlet servlet) {
    ServletHolder holder = new ServletHolder(servlet);
    holder.setInitOrder(1);
    ServletContextHandler handler = new ServletContextHandler("/");
    handler.addServlet(holder, path);
    return handler;
  }
}
