package io.github.usherservice.client;

import io.grpc.Status;

/** The service is away, too slow, or knows too little for now. Until a later try succeeds nobody is allowed anything. */
public final class UnavailableException extends UsherException {
  private static final long serialVersionUID = 1L;

  UnavailableException(String message, Status.Code code, String reason, Details details, Throwable cause) {
    super(message, code, reason, details, cause);
  }
}
