import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.interceptor.api.Hook;
import ca.uhn.fhir.interceptor.api.Interceptor;
import ca.uhn.fhir.interceptor.api.Pointcut;
import ca.uhn.fhir.parser.StrictErrorHandler;
import ca.uhn.fhir.rest.annotation.OptionalParam;
import ca.uhn.fhir.rest.annotation.Search;
import ca.uhn.fhir.rest.api.server.RequestDetails;
import ca.uhn.fhir.rest.param.ReferenceParam;
import ca.uhn.fhir.rest.param.TokenParam;
import ca.uhn.fhir.rest.server.FifoMemoryPagingProvider;
import ca.uhn.fhir.rest.server.RestfulServer;
import ca.uhn.fhir.rest.server.exceptions.AuthenticationException;
import ca.uhn.fhir.rest.server.provider.HashMapResourceProvider;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.hl7.fhir.r4.model.MedicationRequest;
import org.hl7.fhir.r4.model.Observation;
import org.hl7.fhir.r4.model.Patient;

/** HAPI's plain server for FHIR R4 with resources in memory: arguments are the port and a token. */
public class FhirForTests {

    public static class Requests extends HashMapResourceProvider<MedicationRequest> {
        public Requests(FhirContext context) {
            super(context, MedicationRequest.class);
        }

        @Search
        public List<MedicationRequest> ofPatient(
                @OptionalParam(name = "patient") ReferenceParam patient,
                @OptionalParam(name = "status") TokenParam status) {
            List<MedicationRequest> found = new ArrayList<>();
            for (MedicationRequest each : getStoredResources()) {
                String subject = each.getSubject().getReferenceElement().getIdPart();
                boolean fits = patient == null || patient.getIdPart().equals(subject);
                if (status != null) {
                    fits = fits && each.getStatus() != null
                            && status.getValue().equals(each.getStatus().toCode());
                }
                if (fits) {
                    found.add(each);
                }
            }
            return found;
        }
    }

    @Interceptor
    public static class Token {
        private final String wanted;

        Token(String wanted) {
            this.wanted = "Bearer " + wanted;
        }

        @Hook(Pointcut.SERVER_INCOMING_REQUEST_PRE_HANDLED)
        public void check(RequestDetails request) {
            if (!wanted.equals(request.getHeader("Authorization"))) {
                throw new AuthenticationException("the token is missing or wrong");
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        FhirContext context = FhirContext.forR4();
        context.setParserErrorHandler(new StrictErrorHandler());
        RestfulServer fhir = new RestfulServer(context);
        fhir.setResourceProviders(
                new HashMapResourceProvider<>(context, Patient.class),
                new HashMapResourceProvider<>(context, Observation.class),
                new Requests(context));
        FifoMemoryPagingProvider pages = new FifoMemoryPagingProvider(100);
        pages.setDefaultPageSize(10);
        pages.setMaximumPageSize(50);
        fhir.setPagingProvider(pages);
        if (arguments.length > 1) {
            fhir.registerInterceptor(new Token(arguments[1]));
        }
        Server server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
        ServletContextHandler handler = new ServletContextHandler();
        handler.addServlet(new ServletHolder(fhir), "/fhir/*");
        server.setHandler(handler);
        server.start();
        System.out.println("port " + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
        System.in.read();
        server.stop();
        System.exit(0);
    }
}
