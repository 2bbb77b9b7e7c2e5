package io.github.usherservice.client.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.springframework.security.test.web.servlet.request.SecurityMockMvcRequestPostProcessors.user;
import static org.springframework.security.test.web.servlet.setup.SecurityMockMvcConfigurers.springSecurity;
import static org.springframework.test.web.servlet.request.MockMvcRequestBuilders.get;

import io.github.usherservice.client.Doors;
import io.github.usherservice.client.InvalidQuestionException;
import io.github.usherservice.client.Level;
import io.github.usherservice.client.Resource;
import io.github.usherservice.client.Usher;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.security.access.expression.method.DefaultMethodSecurityExpressionHandler;
import org.springframework.security.access.expression.method.MethodSecurityExpressionHandler;
import org.springframework.security.access.prepost.PreAuthorize;
import org.springframework.security.authentication.AnonymousAuthenticationToken;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.config.annotation.method.configuration.EnableMethodSecurity;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configuration.EnableWebSecurity;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.GrantedAuthority;
import org.springframework.security.core.authority.AuthorityUtils;
import org.springframework.security.core.parameters.P;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.access.intercept.RequestAuthorizationContext;
import org.springframework.security.web.authentication.HttpStatusEntryPoint;
import org.springframework.test.context.junit.jupiter.web.SpringJUnitWebConfig;
import org.springframework.test.web.servlet.MockMvc;
import org.springframework.test.web.servlet.request.MockHttpServletRequestBuilder;
import org.springframework.test.web.servlet.setup.MockMvcBuilders;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.context.WebApplicationContext;
import org.springframework.web.servlet.config.annotation.EnableWebMvc;

@SpringJUnitWebConfig(GuardsTest.Application.class)
class GuardsTest {
  private static final String BEN = "ben@example.com";
  private static final String CLARA = "clara@example.com";

  private MockMvc mvc;

  @BeforeEach
  void open(WebApplicationContext context) {
    mvc = MockMvcBuilders.webAppContextSetup(context).apply(springSecurity()).build();
  }

  @Test
  void aRequestNeedsWhatItsGuardAsks() throws Exception {
    List<Integer> got =
        List.of(
            status("/projects/7", BEN), status("/projects/1042", CLARA), status("/projects/7", null),
            status("/away/7", BEN), status("/told/7", BEN), status("/told/7", null), status("/wrong/7", BEN));
    assertEquals(List.of(204, 403, 401, 403, 503, 401, 403), got);
  }

  @Test
  void aMethodNeedsWhatItsExpressionAsks() throws Exception {
    List<Integer> got =
        List.of(
            status("/methods/project/7", BEN), status("/methods/project/1042", CLARA), status("/methods/project/7", "x@example.com"),
            status("/methods/object/7", BEN), status("/methods/object/1042", CLARA), status("/methods/other/7", BEN),
            status("/methods/null/7", BEN), status("/methods/report/7", CLARA), status("/methods/report/7", BEN),
            status("/methods/another/7", CLARA));
    assertEquals(List.of(204, 403, 403, 204, 403, 403, 403, 204, 403, 403), got);
  }

  @Test
  void nobodySignedInIsDeniedWhateverTheAddress() {
    UsherPermissionEvaluator evaluator = new UsherPermissionEvaluator(Application.SERVICE, "atelier", caller -> BEN);
    List<GrantedAuthority> authorities = AuthorityUtils.createAuthorityList("ANY");
    List<Authentication> callers =
        List.of(
            UsernamePasswordAuthenticationToken.authenticated("x", "", authorities),
            UsernamePasswordAuthenticationToken.unauthenticated("x", ""),
            new AnonymousAuthenticationToken("key", "anonymousUser", authorities));
    List<Boolean> got =
        callers.stream().map(caller -> evaluator.hasPermission(caller, "7", "project", "project.access")).toList();
    assertEquals(List.of(true, false, false), got);
    assertFalse(evaluator.hasPermission(null, "7", "project", "project.access"));
  }

  @Test
  void aLevelThatDoesNotExistIsAMistake() {
    UsherPermissionEvaluator evaluator = new UsherPermissionEvaluator(Application.AWAY, "atelier", Authentication::getName);
    assertThrows(IllegalArgumentException.class, () -> evaluator.hasPermission(null, "7", "project", "project.access:edti"));
  }

  @Test
  void aGuardWithoutItsRecordDenies() {
    Authentication ben = UsernamePasswordAuthenticationToken.authenticated(BEN, "", List.of());
    var guard = new UsherAuthorizationManager<String>(Application.SERVICE, "atelier", "project.access", Authentication::getName);
    assertTrue(guard.authorize(() -> ben, "").isGranted());
    List<Function<String, Resource>> wrong =
        List.of(guarded -> null, guarded -> Resource.NONE, guarded -> new Resource("project", guarded), guarded -> new Resource("project", null));
    for (var resource : wrong) assertFalse(guard.withResource(resource).authorize(() -> ben, "").isGranted());
    var evaluator = new UsherPermissionEvaluator(Application.SERVICE, "atelier", Authentication::getName);
    assertFalse(evaluator.hasPermission(ben, Resource.NONE, "project.access"));
    assertFalse(evaluator.hasPermission(ben, "", "project", "project.access"));
    assertFalse(evaluator.hasPermission(ben, "7", "", "project.access"));
    assertTrue(evaluator.hasPermission(ben, "7", "project", "project.access"));
    // A colon may be of the code.
    assertFalse(evaluator.hasPermission(ben, "7", "project", "read:orders"));
    assertThrows(InvalidQuestionException.class, () -> guard.withLevel(Level.ALLOWED));
  }

  private int status(String path, String email) throws Exception {
    MockHttpServletRequestBuilder request = get(path);
    if (email != null) request.with(user(email));
    return mvc.perform(request).andReturn().getResponse().getStatus();
  }

  /** Methods that are guarded. */
  static class Methods {
    @PreAuthorize("hasPermission(#id, 'project', 'project.access:edit')")
    void project(@P("id") String id) {}

    @PreAuthorize("hasPermission(#project, 'project.access')")
    void object(@P("project") Object project) {}

    @PreAuthorize("hasPermission('atelier', 'application', 'report.export')")
    void report() {}

    @PreAuthorize("hasPermission('another', 'application', 'report.export')")
    void another() {}
  }

  @RestController
  static class Controller {
    private final Methods methods;

    Controller(Methods methods) {
      this.methods = methods;
    }

    @GetMapping({"/projects/{id}", "/away/{id}", "/told/{id}", "/wrong/{id}"})
    ResponseEntity<Void> project() {
      return ResponseEntity.noContent().build();
    }

    @GetMapping("/methods/{kind}/{id}")
    ResponseEntity<Void> method(@PathVariable("kind") String kind, @PathVariable("id") String id) {
      switch (kind) {
        case "project" -> methods.project(id);
        case "object" -> methods.object(new Resource("project", id));
        case "other" -> methods.object(id);
        case "report" -> methods.report();
        case "another" -> methods.another();
        default -> methods.object(null);
      }
      return ResponseEntity.noContent().build();
    }
  }

  @Configuration
  @EnableWebMvc
  @EnableWebSecurity
  @EnableMethodSecurity
  static class Application {
    static final Usher AWAY = Doors.away();
    private static final Usher SERVICE = Doors.service();
    private static final Usher WRONG = Doors.wrong();

    private static UsherAuthorizationManager<RequestAuthorizationContext> guard(Usher usher) {
      return new UsherAuthorizationManager<RequestAuthorizationContext>(usher, "atelier", "project.access", Authentication::getName)
          .withLevel(Level.EDIT)
          .withResource(context -> new Resource("project", context.getVariables().get("id")));
    }

    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
      return http.authorizeHttpRequests(
              requests ->
                  requests
                      .requestMatchers("/projects/{id}").access(guard(SERVICE))
                      .requestMatchers("/away/{id}").access(guard(AWAY))
                      .requestMatchers("/told/{id}").access(guard(AWAY).withUnavailable())
                      .requestMatchers("/wrong/{id}").access(guard(WRONG).withUnavailable())
                      .anyRequest().authenticated())
          .exceptionHandling(
              handling ->
                  handling
                      .authenticationEntryPoint(new HttpStatusEntryPoint(HttpStatus.UNAUTHORIZED))
                      .accessDeniedHandler(new UnavailableHandler()))
          .build();
    }

    @Bean
    static MethodSecurityExpressionHandler expressions() {
      DefaultMethodSecurityExpressionHandler handler = new DefaultMethodSecurityExpressionHandler();
      handler.setPermissionEvaluator(new UsherPermissionEvaluator(SERVICE, "atelier", Authentication::getName));
      return handler;
    }

    @Bean
    Methods methods() {
      return new Methods();
    }

    @Bean
    Controller controller(Methods methods) {
      return new Controller(methods);
    }
  }
}
