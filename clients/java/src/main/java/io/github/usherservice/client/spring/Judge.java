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
    Question question = new Question(address, app, permission, resource, level);
    if (!isTold) return usher.allowed(question);
    try {
      return usher.check(question).allowed();
    } catch (UnavailableException error) {
      throw new AuthorizationServiceException("Usher is unavailable.", error);
    } catch (UsherException error) {
      LOG.log(System.Logger.Level.WARNING, "no answer about {0} in {1}: {2} Denied.", permission, app, error.getMessage());
      return false;
    }
  }
}
