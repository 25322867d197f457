package clinigate.hapi;

import ca.uhn.fhir.batch2.maintenance.JobMaintenanceServiceImpl;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings.ClientIdStrategyEnum;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings.IdStrategyEnum;
import ca.uhn.fhir.jpa.model.config.PartitionSettings;
import ca.uhn.fhir.jpa.model.config.SubscriptionSettings;
import ca.uhn.fhir.jpa.model.entity.StorageSettings.TagStorageModeEnum;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** HAPI's rules for what may be stored, searched and deleted. */
@Configuration
class Settings {
  @Bean
  JpaStorageSettings storageSettings(Options options) {
    JpaStorageSettings settings = new JpaStorageSettings();
    settings.setHibernateSearchIndexFullText(false);
    settings.setHibernateSearchIndexSearchParams(false);
    settings.setResourceClientIdStrategy(ClientIdStrategyEnum.valueOf(options.clientIds));
    settings.setResourceServerIdStrategy(IdStrategyEnum.valueOf(options.serverIds));
    settings.setTagStorageMode(TagStorageModeEnum.valueOf(options.tags));
    searching(settings, options);
    references(settings, options);
    deleting(settings, options);
    return settings;
  }

  @Bean
  PartitionSettings partitionSettings() {
    return new PartitionSettings();
  }

  @Bean
  SubscriptionSettings subscriptionSettings() {
    return new SubscriptionSettings();
  }

  /** Static, since Spring asks it about every bean and so must have it before all others. */
  @Bean
  static BeanPostProcessor maintenanceFrequency(Options options) {
    return new BeanPostProcessor() {
      @Override
      public Object postProcessAfterInitialization(Object bean, String name) {
        if (bean instanceof JobMaintenanceServiceImpl maintenance) {
          maintenance.setScheduledJobFrequencyMillis(options.maintenanceMs);
        }
        return bean;
      }
    };
  }

  private static void searching(JpaStorageSettings settings, Options options) {
    settings.setReuseCachedSearchResultsForMillis(options.searchReuseMs == 0 ? null : (long) options.searchReuseMs);
    settings.setFetchSizeDefaultMaximum(options.maxPage);
    settings.setFilterParameterEnabled(options.filter);
  }

  private static void references(JpaStorageSettings settings, Options options) {
    settings.setAllowExternalReferences(options.externalReferences);
    settings.setAllowInlineMatchUrlReferences(options.inlineMatchReferences);
    settings.setTreatBaseUrlsAsLocal(options.localBases);
    settings.setEnforceReferentialIntegrityOnWrite(options.integrityOnWrite);
    settings.setEnforceReferentialIntegrityOnDelete(options.integrityOnDelete);
  }

  private static void deleting(JpaStorageSettings settings, Options options) {
    settings.setAllowMultipleDelete(options.multipleDelete);
    settings.setExpungeEnabled(options.expunge);
    settings.setDeleteExpungeEnabled(options.deleteExpunge);
  }
}
