package clinigate.hapi;

import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.binary.api.IBinaryStorageSvc;
import ca.uhn.fhir.jpa.binstore.DatabaseBinaryContentStorageSvcImpl;
import ca.uhn.fhir.jpa.config.util.HapiEntityManagerFactoryUtil;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirH2Dialect;
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

/** Where resources lie: one H2 database, through Hibernate, without a full text index. */
@Configuration
class Storage {
  @Bean
  DataSource dataSource(Options options) {
    HikariDataSource source = new HikariDataSource();
    source.setJdbcUrl(options.db);
    source.setUsername("sa");
    source.setPassword("");
    source.setMaximumPoolSize(options.pool);
    return source;
  }

  @Bean
  @Primary
  LocalContainerEntityManagerFactoryBean entityManagerFactory(
      ConfigurableListableBeanFactory beans, FhirContext context, JpaStorageSettings settings, DataSource source) {
    var factory = HapiEntityManagerFactoryUtil.newEntityManagerFactory(beans, context, settings);
    factory.setPersistenceUnitName("HAPI_PU");
    factory.setDataSource(source);
    factory.setJpaProperties(hibernate());
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

  private static Properties hibernate() {
    Properties properties = new Properties();
    properties.put("hibernate.dialect", HapiFhirH2Dialect.class.getName());
    properties.put("hibernate.hbm2ddl.auto", "update");
    properties.put("hibernate.jdbc.batch_size", "20");
    properties.put("hibernate.cache.use_query_cache", "false");
    properties.put("hibernate.cache.use_second_level_cache", "false");
    properties.put("hibernate.search.enabled", "false");
    return properties;
  }
}
