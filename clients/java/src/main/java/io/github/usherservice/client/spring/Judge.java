package io.github.usherservice.client.spring;

import io.github.usherservice.client.Level;
import io.github.usherservice.client.Question;
import io.github.usherservice.client.Resource;
import io.github.usherservice.client.UnavailableException;
import io.github.usherservice.client.Usher;
import io.github.usherservice.client.UsherException;
import java.util.Objects;
import java.util.function.Function;
import org.springframework.security.access.AuthorizationServiceException;
import org.springframework.security.authentication.AnonymousAuthenticationToken;
import org.springframework.security.core.Authentication;

/**
 * What manager and evaluator share.
 *
 * @param email gives a user's address
 * @param isTold whether trouble is an exception of its own instead of a denial
 */
record Judge(Usher usher, String app, Function<Authentication, String> email, boolean isTold) {
  private static final System.Logger LOG = System.getLogger("io.github.usherservice.client");

  Judge {
    Objects.requireNonNull(usher, "usher");
    Objects.requireNonNull(app, "app");
    Objects.requireNonNull(email, "email");
  }

  Judge telling() {
    return new Judge(usher, app, email, true);
  }

  boolean isAllowed(Authentication caller, String permission, Resource resource, Level level) {
    if (caller == null || !caller.isAuthenticated() || caller instanceof AnonymousAuthenticationToken) return false;
    String address = email.apply(caller);
    if (address == null || address.isEmpty() || resource == null) return false;
    try {
      return usher.check(new Question(address, app, permission, resource, level)).allowed();
    } catch (UnavailableException error) {
      if (isTold) throw new AuthorizationServiceException("Usher is unavailable.", error);
      return denied(permission, error);
    } catch (UsherException error) {
      return denied(permission, error);
    }
  }

  /** A record that a function of the application has to give: none would be the question about the whole application. */
  boolean isAllowedAbout(Authentication caller, String permission, Resource resource, Level level) {
    if (resource != null && !resource.equals(Resource.NONE)) return isAllowed(caller, permission, resource, level);
    LOG.log(System.Logger.Level.WARNING, "a guard of {0} in {1} has no record to ask about. Denied.", permission, app);
    return false;
  }

  private boolean denied(String permission, UsherException error) {
    LOG.log(System.Logger.Level.WARNING, "no answer about {0} in {1}: {2} Denied.", permission, app, error.getMessage());
    return false;
  }
}
