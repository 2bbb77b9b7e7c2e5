package io.github.usherservice.client;

import io.grpc.Status;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** There is no answer. Nobody is allowed anything by an exception. */
public class UsherException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** The status of gRPC. */
  private final Status.Code code;

  /** The reason, stable. */
  private final String reason;

  private final transient Details details;

  /** What the service said beside code and message. */
  record Details(List<Violation> violations, Map<String, String> values, Optional<String> requestId) {
    static final Details NONE = new Details(List.of(), Map.of(), Optional.empty());
  }

  UsherException(String message, Status.Code code, String reason, Details details, Throwable cause) {
    super(message, cause);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /**
   * The status of gRPC.
   *
   * @return the code
   */
  public Status.Code code() {
    return code;
  }

  /**
   * The reason, stable, from the service's table of errors; the name of the status where there is none.
   *
   * @return the reason
   */
  public String reason() {
    return reason;
  }

  /**
   * The mistakes in the question, by field.
   *
   * @return empty where the question is not at fault
   */
  public List<Violation> violations() {
    return known().violations();
  }

  /**
   * Values that belong to the reason: of UNKNOWN_CODE the path, and the known code that was probably meant.
   *
   * @return values by name
   */
  public Map<String, String> details() {
    return known().values();
  }

  /**
   * The identifier of the request in the service's log.
   *
   * @return empty where the service did not answer
   */
  public Optional<String> requestId() {
    return known().requestId();
  }

  /** Details are lost where an exception was serialized. */
  private Details known() {
    return details == null ? Details.NONE : details;
  }
}
