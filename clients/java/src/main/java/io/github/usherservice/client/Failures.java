package io.github.usherservice.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Makes the exceptions of this package from those of gRPC. */
final class Failures {
  private static final Metadata.Key<String> REQUEST_ID = Metadata.Key.of("x-request-id", Metadata.ASCII_STRING_MARSHALLER);

  private record Reading(String reason, List<Violation> violations, Map<String, String> values) {}

  private Failures() {}

  static UsherException of(Throwable thrown) {
    if (thrown instanceof UsherException known) return known;
    Status status = toStatus(thrown);
    Reading reading = read(thrown, status.getCode().name());
    Metadata trailers = Status.trailersFromThrowable(thrown);
    Optional<String> requestId = Optional.ofNullable(trailers).map(sent -> sent.get(REQUEST_ID));
    String message = status.getDescription() == null ? status.getCode().name() : status.getDescription();
    UsherException.Details details = new UsherException.Details(reading.violations(), reading.values(), requestId);
    return make(message, status.getCode(), reading.reason(), details, thrown);
  }

  /**
   * gRPC says UNKNOWN of a call that was written in the moment in which its connection closed. A cause does not travel, so one that
   * is there tells that the service has not answered.
   */
  private static Status toStatus(Throwable thrown) {
    Status status = Status.fromThrowable(thrown);
    boolean isCut = status.getCode() == Status.Code.UNKNOWN && status.getCause() instanceof IOException;
    return isCut ? Status.UNAVAILABLE.withDescription(status.getDescription()).withCause(status.getCause()) : status;
  }

  static UsherException of(Status.Code code, String message, Throwable cause) {
    return make(message, code, code.name(), UsherException.Details.NONE, cause);
  }

  static UsherException make(
      String message, Status.Code code, String reason, UsherException.Details details, Throwable cause) {
    return switch (code) {
      case UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, CANCELLED ->
          new UnavailableException(message, code, reason, details, cause);
      case UNAUTHENTICATED, PERMISSION_DENIED -> new DeniedException(message, code, reason, details, cause);
      case INVALID_ARGUMENT -> new InvalidQuestionException(message, code, reason, details, cause);
      default -> new UsherException(message, code, reason, details, cause);
    };
  }

  private static Reading read(Throwable thrown, String code) {
    String reason = code;
    Map<String, String> values = Map.of();
    List<Violation> violations = new ArrayList<>();
    try {
      com.google.rpc.Status status = StatusProto.fromThrowable(thrown);
      if (status == null) return new Reading(code, List.of(), Map.of());
      for (Any detail : status.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          if (!info.getDomain().equals("usher")) continue;
          reason = info.getReason();
          values = Map.copyOf(info.getMetadataMap());
        } else if (detail.is(BadRequest.class)) {
          detail.unpack(BadRequest.class).getFieldViolationsList()
              .forEach(one -> violations.add(new Violation(one.getField(), one.getDescription())));
        }
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException unreadable) {
      // Details that cannot be read only cost the precise reason: the call has failed all the same.
      return new Reading(code, List.of(), Map.of());
    }
    return new Reading(reason, List.copyOf(violations), values);
  }
}
