package io.github.usherservice.client.spring;

import io.github.usherservice.client.Level;
import io.github.usherservice.client.Resource;
import io.github.usherservice.client.Usher;
import java.io.Serializable;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import org.springframework.security.access.PermissionEvaluator;
import org.springframework.security.core.Authentication;

/**
 * Answers {@code hasPermission(…)} in the expressions of Spring Security.
 *
 * <pre>{@code
 * @PreAuthorize("hasPermission(#id, 'project', 'project.access:edit')")
 * @PreAuthorize("hasPermission('atelier', 'application', 'report.export')")
 * }</pre>
 *
 * <p>A permission is a code, or a code and a level. The type {@code application} with the application's code asks without a record. A
 * target that is null is denied, so that a question about one record is never answered as one about the application.
 */
public final class UsherPermissionEvaluator implements PermissionEvaluator {
  private static final String APPLICATION = "application";

  private final Judge judge;
  private final Function<Object, Resource> resourceOf;

  /**
   * An evaluator for the permissions of an application.
   *
   * @param usher the client
   * @param app the application's code
   * @param email gives a user's address; null for a user without one, who is denied
   */
  public UsherPermissionEvaluator(Usher usher, String app, Function<Authentication, String> email) {
    this(new Judge(usher, app, email, false), target -> target instanceof Resource resource ? resource : null);
  }

  private UsherPermissionEvaluator(Judge judge, Function<Object, Resource> resourceOf) {
    this.judge = judge;
    this.resourceOf = Objects.requireNonNull(resourceOf, "resourceOf");
  }

  /**
   * The same for {@code hasPermission(#project, 'project.access')} with objects of the program.
   *
   * @param recordOf gives the record of an object; null is denied. By default an object is a {@link Resource}
   * @return a changed copy
   */
  public UsherPermissionEvaluator withResources(Function<Object, Resource> recordOf) {
    return new UsherPermissionEvaluator(judge, recordOf);
  }

  /**
   * The same, but trouble is an {@code AuthorizationServiceException} instead of a denial: {@link UnavailableHandler} makes 503 of it.
   *
   * @return a changed copy
   */
  public UsherPermissionEvaluator withUnavailable() {
    return new UsherPermissionEvaluator(judge.telling(), resourceOf);
  }

  @Override
  public boolean hasPermission(Authentication authentication, Object target, Object permission) {
    return target != null && isAllowed(authentication, resourceOf.apply(target), permission);
  }

  @Override
  public boolean hasPermission(Authentication authentication, Serializable id, String type, Object permission) {
    if (id == null || type == null) return false;
    boolean isApplication = type.equals(APPLICATION) && id.equals(judge.app());
    return isAllowed(authentication, isApplication ? Resource.NONE : new Resource(type, id.toString()), permission);
  }

  private boolean isAllowed(Authentication authentication, Resource resource, Object permission) {
    String[] parts = String.valueOf(permission).split(":", 2);
    Level level = parts.length == 1 ? Level.NONE : Level.valueOf(parts[1].toUpperCase(Locale.ROOT));
    return judge.isAllowed(authentication, parts[0], resource, level);
  }
}
