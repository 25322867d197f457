package clinigate.bench;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.web.servlet.ServletComponentScan;

/** Serves google/fhir-gateway, whose servlet and access checkers Spring finds by their annotations. */
@SpringBootApplication(scanBasePackages = "com.google.fhir.gateway.plugin")
@ServletComponentScan(basePackages = "com.google.fhir.gateway")
public class Main {
  public static void main(String[] args) {
    SpringApplication.run(Main.class, args);
  }
}
