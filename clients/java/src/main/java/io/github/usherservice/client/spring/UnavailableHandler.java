package io.github.usherservice.client.spring;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.access.AuthorizationServiceException;
import org.springframework.security.web.access.AccessDeniedHandler;
import org.springframework.security.web.access.AccessDeniedHandlerImpl;

/** Answers trouble with 503, and every other denial as Spring Security does: {@code http.exceptionHandling(…)} takes it. */
public final class UnavailableHandler implements AccessDeniedHandler {
  private final AccessDeniedHandler others = new AccessDeniedHandlerImpl();

  /** A handler without options. */
  public UnavailableHandler() {}

  @Override
  public void handle(HttpServletRequest request, HttpServletResponse response, AccessDeniedException denied)
      throws IOException, ServletException {
    if (denied instanceof AuthorizationServiceException) response.sendError(HttpServletResponse.SC_SERVICE_UNAVAILABLE);
    else others.handle(request, response, denied);
  }
}
