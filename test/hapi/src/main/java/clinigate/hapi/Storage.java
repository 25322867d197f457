package clinigate.hapi;

import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.binary.api.IBinaryStorageSvc;
import ca.uhn.fhir.jpa.binstore.DatabaseBinaryContentStorageSvcImpl;
import ca.uhn.fhir.jpa.config.util.HapiEntityManagerFactoryUtil;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirH2Dialect;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirPostgresDialect;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.util.Properties;
import javax.sql.DataSource;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;

/** Where resources lie: one database of H2 or PostgreSQL, through Hibernate, without a full text index. */
@Configuration
class Storage {
  @Bean
  DataSource dataSource(Options options) {
    HikariDataSource source = new HikariDataSource();
    source.setJdbcUrl(options.db);
    if (!isPostgres(options)) {
      source.setUsername("sa");
      source.setPassword("");
    }
    source.setMaximumPoolSize(options.pool);
    return source;
  }

  @Bean
  @Primary
  LocalContainerEntityManagerFactoryBean entityManagerFactory(
      ConfigurableListableBeanFactory beans,
      FhirContext context,
      JpaStorageSettings settings,
      DataSource source,
      Options options) {
    var factory = HapiEntityManagerFactoryUtil.newEntityManagerFactory(beans, context, settings);
    factory.setPersistenceUnitName("HAPI_PU");
    factory.setDataSource(source);
    factory.setJpaProperties(hibernate(options));
    return factory;
  }

  @Bean
  @Primary
  JpaTransactionManager transactionManager(EntityManagerFactory factory) {
    return new JpaTransactionManager(factory);
  }

  @Bean
  IBinaryStorageSvc binaryStorage() {
    return new DatabaseBinaryContentStorageSvcImpl();
  }

  private static Properties hibernate(Options options) {
    Properties properties = new Properties();
    var dialect = isPostgres(options) ? HapiFhirPostgresDialect.class : HapiFhirH2Dialect.class;
    properties.put("hibernate.dialect", dialect.getName());
    properties.put("hibernate.hbm2ddl.auto", "update");
    properties.put("hibernate.jdbc.batch_size", "20");
    properties.put("hibernate.cache.use_query_cache", "false");
    properties.put("hibernate.cache.use_second_level_cache", "false");
    properties.put("hibernate.search.enabled", "false");
    return properties;
  }

  /** PostgreSQL's URLs name user and password themselves. */
  private static boolean isPostgres(Options options) {
    return options.db.startsWith("jdbc:postgresql:");
  }
}
