package io.github.usherservice.client.spring;

import io.github.usherservice.client.Level;
import io.github.usherservice.client.Resource;
import io.github.usherservice.client.Usher;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.IntStream;
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
    Resource resource = target == null ? null : resourceOf.apply(target);
    return isAllowed(authentication, resource == null || resource.equals(Resource.NONE) ? null : resource, permission);
  }

  @Override
  public boolean hasPermission(Authentication authentication, Serializable id, String type, Object permission) {
    if (id == null || type == null || type.isEmpty() || id.toString().isEmpty()) return false;
    boolean isApplication = type.equals(APPLICATION) && id.equals(judge.app());
    return isAllowed(authentication, isApplication ? Resource.NONE : new Resource(type, id.toString()), permission);
  }

  private boolean isAllowed(Authentication authentication, Resource resource, Object permission) {
    String code = String.valueOf(permission);
    int end = code.lastIndexOf(':');
    Level level = end < 0 ? null : levelOf(code.substring(end + 1));
    String asked = level == null ? code : code.substring(0, end);
    return judge.isAllowed(authentication, asked, resource, level == null ? Level.NONE : level);
  }

  /** What stands behind the last colon, where that is a level and not a part of the code, as in `read:orders`. */
  private static Level levelOf(String text) {
    String name = text.toUpperCase(Locale.ROOT);
    for (Level level : List.of(Level.NONE, Level.VIEW, Level.EDIT)) {
      if (name.equals(level.name())) return level;
      if (isMisspelt(name, level.name())) {
        throw new IllegalArgumentException("No level is called " + text + ": did you mean " + level.name().toLowerCase(Locale.ROOT) + "?");
      }
    }
    return null;
  }

  /** The same letters in another order, or one other letter. */
  private static boolean isMisspelt(String name, String meant) {
    if (name.length() != meant.length()) return false;
    long others = IntStream.range(0, name.length()).filter(i -> name.charAt(i) != meant.charAt(i)).count();
    return others == 1 || Arrays.equals(name.chars().sorted().toArray(), meant.chars().sorted().toArray());
  }
}
