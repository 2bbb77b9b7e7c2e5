package io.github.usherservice.client;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import io.grpc.Status;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Makes the exceptions of this package from answers of REST. */
final class HttpFailures {
  private static final Gson JSON = new Gson();

  private HttpFailures() {}

  /** An answer that is no success: of a proxy often no JSON, and then its status has to do. */
  static UsherException of(HttpResponse<String> response) {
    JsonObject body = body(response.body());
    JsonObject details = body.get("details") instanceof JsonObject found ? found : new JsonObject();
    Status.Code code = code(response.statusCode());
    Map<String, String> values = new HashMap<>();
    List<Violation> violations = new ArrayList<>();
    for (Map.Entry<String, JsonElement> one : details.entrySet()) {
      if (one.getKey().equals("issues") && one.getValue().isJsonArray()) {
        for (JsonElement issue : one.getValue().getAsJsonArray()) {
          if (issue instanceof JsonObject fault) violations.add(new Violation(text(fault.get("path")), text(fault.get("message"))));
        }
      } else if (!one.getKey().equals("code") && !one.getKey().equals("more")) {
        values.put(one.getKey(), text(one.getValue()));
      }
    }
    Optional<String> requestId =
        body.has("requestId") ? Optional.of(text(body.get("requestId"))) : response.headers().firstValue("x-request-id");
    String message =
        body.has("message") ? text(body.get("message")) : response.uri().getAuthority() + " answered " + response.statusCode() + ".";
    String reason = details.has("code") ? text(details.get("code")) : code.name();
    return Failures.make(
        message, code, reason, new UsherException.Details(List.copyOf(violations), Map.copyOf(values), requestId), null);
  }

  private static JsonObject body(String text) {
    try {
      return JSON.fromJson(text, JsonElement.class) instanceof JsonObject body ? body : new JsonObject();
    } catch (JsonParseException foreign) {
      return new JsonObject();
    }
  }

  private static String text(JsonElement value) {
    if (value == null) return "";
    return value.isJsonPrimitive() ? value.getAsString() : value.toString();
  }

  /** The status of gRPC that stands for one of HTTP (docs/reference/errors.md#codes). */
  private static Status.Code code(int status) {
    return switch (status) {
      case 400, 415, 422 -> Status.Code.INVALID_ARGUMENT;
      case 401 -> Status.Code.UNAUTHENTICATED;
      case 403 -> Status.Code.PERMISSION_DENIED;
      case 404 -> Status.Code.NOT_FOUND;
      case 405 -> Status.Code.UNIMPLEMENTED;
      case 409 -> Status.Code.ALREADY_EXISTS;
      case 412 -> Status.Code.ABORTED;
      case 413, 429 -> Status.Code.RESOURCE_EXHAUSTED;
      case 500 -> Status.Code.INTERNAL;
      default -> status > 500 ? Status.Code.UNAVAILABLE : Status.Code.FAILED_PRECONDITION;
    };
  }
}
