package io.github.usherservice.client;

import io.grpc.Status;

/** The key is missing, wrong, or lacks the scope. */
public final class DeniedException extends UsherException {
  private static final long serialVersionUID = 1L;

  DeniedException(String message, Status.Code code, String reason, Details details, Throwable cause) {
    super(message, code, reason, details, cause);
  }
}
