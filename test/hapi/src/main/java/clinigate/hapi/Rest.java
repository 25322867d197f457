package clinigate.hapi;

import ca.uhn.fhir.batch2.jobs.bulkmodify.reindex.ReindexProvider;
import ca.uhn.fhir.batch2.jobs.export.BulkDataExportProvider;
import ca.uhn.fhir.batch2.jobs.imprt.BulkDataImportProvider;
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.context.support.IValidationSupport;
import ca.uhn.fhir.interceptor.api.IInterceptorBroadcaster;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.api.dao.DaoRegistry;
import ca.uhn.fhir.jpa.api.dao.IFhirSystemDao;
import ca.uhn.fhir.jpa.delete.ThreadSafeResourceDeleterSvc;
import ca.uhn.fhir.jpa.graphql.GraphQLProvider;
import ca.uhn.fhir.jpa.interceptor.CascadingDeleteInterceptor;
import ca.uhn.fhir.jpa.provider.DiffProvider;
import ca.uhn.fhir.jpa.provider.JpaCapabilityStatementProvider;
import ca.uhn.fhir.jpa.provider.JpaSystemProvider;
import ca.uhn.fhir.jpa.provider.ProcessMessageProvider;
import ca.uhn.fhir.jpa.provider.ValueSetOperationProvider;
import ca.uhn.fhir.jpa.search.DatabaseBackedPagingProvider;
import ca.uhn.fhir.rest.api.EncodingEnum;
import ca.uhn.fhir.rest.server.ApacheProxyAddressStrategy;
import ca.uhn.fhir.rest.server.HardcodedServerAddressStrategy;
import ca.uhn.fhir.rest.server.IServerAddressStrategy;
import ca.uhn.fhir.rest.server.IncomingRequestAddressStrategy;
import ca.uhn.fhir.rest.server.RestfulServer;
import ca.uhn.fhir.rest.server.provider.ResourceProviderFactory;
import ca.uhn.fhir.rest.server.util.ISearchParamRegistry;
import org.springframework.context.ApplicationContext;

/** The FHIR servlet with every R4 type and every operation that HAPI has ready: the more it can do, the more a gateway must guard. */
final class Rest {
  private final ApplicationContext beans;
  private final Options options;

  Rest(ApplicationContext beans, Options options) {
    this.beans = beans;
    this.options = options;
  }

  RestfulServer servlet() {
    RestfulServer server = new RestfulServer(bean(FhirContext.class));
    server.registerProviders(bean(ResourceProviderFactory.class).createProviders());
    server.registerProvider(bean(JpaSystemProvider.class));
    operations(server);
    server.setServerConformanceProvider(capabilities(server));
    server.setPagingProvider(paging());
    server.setServerAddressStrategy(address());
    server.setDefaultResponseEncoding(EncodingEnum.JSON);
    server.setDefaultPrettyPrint(false);
    if (options.cascade) server.registerInterceptor(cascade());
    return server;
  }

  private void operations(RestfulServer server) {
    server.registerProvider(bean(BulkDataExportProvider.class));
    server.registerProvider(bean(BulkDataImportProvider.class));
    server.registerProvider(bean(ValueSetOperationProvider.class));
    server.registerProvider(bean(ReindexProvider.class));
    server.registerProvider(bean(DiffProvider.class));
    server.registerProvider(bean(ProcessMessageProvider.class));
    if (options.graphql) server.registerProvider(bean(GraphQLProvider.class));
  }

  private JpaCapabilityStatementProvider capabilities(RestfulServer server) {
    return new JpaCapabilityStatementProvider(
        server,
        bean(IFhirSystemDao.class),
        bean(JpaStorageSettings.class),
        bean(ISearchParamRegistry.class),
        bean(IValidationSupport.class));
  }

  private DatabaseBackedPagingProvider paging() {
    DatabaseBackedPagingProvider paging = bean(DatabaseBackedPagingProvider.class);
    paging.setDefaultPageSize(options.defaultPage);
    paging.setMaximumPageSize(options.maxPage);
    return paging;
  }

  private IServerAddressStrategy address() {
    return switch (options.address) {
      case "incoming" -> new IncomingRequestAddressStrategy();
      case "apache" -> ApacheProxyAddressStrategy.forHttp();
      default -> new HardcodedServerAddressStrategy(options.address);
    };
  }

  private CascadingDeleteInterceptor cascade() {
    return new CascadingDeleteInterceptor(
        bean(FhirContext.class),
        bean(DaoRegistry.class),
        bean(IInterceptorBroadcaster.class),
        bean(ThreadSafeResourceDeleterSvc.class));
  }

  private <T> T bean(Class<T> type) {
    return beans.getBean(type);
  }
}
