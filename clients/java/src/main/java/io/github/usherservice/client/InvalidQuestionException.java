package io.github.usherservice.client;

import io.grpc.Status;

/** The question is malformed, or names a code that a strict application does not define. */
public final class InvalidQuestionException extends UsherException {
  private static final long serialVersionUID = 1L;

  InvalidQuestionException(String message, Status.Code code, String reason, Details details, Throwable cause) {
    super(message, code, reason, details, cause);
  }
}
