package io.github.usherservice.client.spring;

import io.github.usherservice.client.InvalidQuestionException;
import io.github.usherservice.client.Level;
import io.github.usherservice.client.Question;
import io.github.usherservice.client.Resource;
import io.github.usherservice.client.Usher;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import org.springframework.security.authorization.AuthorizationDecision;
import org.springframework.security.authorization.AuthorizationManager;
import org.springframework.security.authorization.AuthorizationResult;
import org.springframework.security.core.Authentication;

/**
 * Lets only those through who hold a permission.
 *
 * <pre>{@code
 * new UsherAuthorizationManager<RequestAuthorizationContext>(usher, "atelier", "project.access", Authentication::getName)
 *     .withResource(context -> new Resource("project", context.getVariables().get("id")))
 * }</pre>
 *
 * @param <T> the kind of what is guarded: for requests {@code RequestAuthorizationContext}
 */
public final class UsherAuthorizationManager<T> implements AuthorizationManager<T> {
  private final Judge judge;
  private final String permission;
  private final Level level;
  /** Null: the guard is about the application as a whole. */
  private final Function<T, Resource> resource;

  /**
   * A guard without a record, for any level.
   *
   * @param usher the client
   * @param app the application's code
   * @param permission the permission's code
   * @param email gives a user's address; null for a user without one, who is denied
   */
  public UsherAuthorizationManager(Usher usher, String app, String permission, Function<Authentication, String> email) {
    this(new Judge(usher, app, email, false), permission, Level.NONE, null);
  }

  private UsherAuthorizationManager(Judge judge, String permission, Level level, Function<T, Resource> resource) {
    this.judge = judge;
    // Read as a question is: a wrong one is refused when the guard is made.
    this.permission = Question.ofEverybody(judge.app(), permission).permission();
    this.level = Question.ofEverybody(judge.app(), permission).withLevel(level).level();
    this.resource = resource;
  }

  /**
   * The same for a level.
   *
   * @param least the least that will do
   * @return a changed copy
   */
  public UsherAuthorizationManager<T> withLevel(Level least) {
    return new UsherAuthorizationManager<>(judge, permission, least, resource);
  }

  /**
   * The same about a record.
   *
   * @param about gives the record; null is denied
   * @return a changed copy
   */
  public UsherAuthorizationManager<T> withResource(Function<T, Resource> about) {
    return new UsherAuthorizationManager<>(judge, permission, level, Objects.requireNonNull(about, "about"));
  }

  /**
   * The same, but trouble is an {@code AuthorizationServiceException} instead of a denial: {@link UnavailableHandler} makes 503 of it.
   *
   * @return a changed copy
   */
  public UsherAuthorizationManager<T> withUnavailable() {
    return new UsherAuthorizationManager<>(judge.telling(), permission, level, resource);
  }

  @Override
  public AuthorizationResult authorize(Supplier<? extends Authentication> authentication, T guarded) {
    return new AuthorizationDecision(isAllowed(authentication.get(), guarded));
  }

  private boolean isAllowed(Authentication caller, T guarded) {
    if (resource == null) return judge.isAllowed(caller, permission, Resource.NONE, level);
    try {
      return judge.isAllowedAbout(caller, permission, resource.apply(guarded), level);
    } catch (InvalidQuestionException half) {
      return judge.isAllowedAbout(caller, permission, null, level);
    }
  }
}
