package io.github.usherservice.client;

import io.github.usherservice.client.internal.usher.permission.v1.BulkCheckRequest;
import io.github.usherservice.client.internal.usher.permission.v1.BulkCheckResponse;
import io.github.usherservice.client.internal.usher.permission.v1.CheckRequest;
import io.github.usherservice.client.internal.usher.permission.v1.CheckResponse;
import io.github.usherservice.client.internal.usher.permission.v1.EffectivePermission;
import io.github.usherservice.client.internal.usher.permission.v1.EffectiveRequest;
import io.github.usherservice.client.internal.usher.permission.v1.EffectiveResponse;
import io.github.usherservice.client.internal.usher.permission.v1.ExplainResponse;
import io.github.usherservice.client.internal.usher.permission.v1.ListResourcesRequest;
import io.github.usherservice.client.internal.usher.permission.v1.ListSubjectsRequest;
import io.github.usherservice.client.internal.usher.permission.v1.ListSubjectsResponse;
import io.github.usherservice.client.internal.usher.permission.v1.PermissionDecision;
import io.github.usherservice.client.internal.usher.permission.v1.PermissionType;
import io.github.usherservice.client.internal.usher.permission.v1.WatchResponse;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Between the questions and answers of this package and the messages of usher.permission.v1. */
final class Wire {
  static final int SUBJECTS_PAGE = 1_000;
  static final int RESOURCES_PAGE = 10_000;

  private Wire() {}

  static CheckRequest check(Question question, String minRevision) {
    return CheckRequest.newBuilder()
        .setEmail(question.email())
        .setApp(question.app())
        .setPermission(question.permission())
        .setResourceType(question.resource().type())
        .setResourceId(question.resource().id())
        .setAccessLevel(question.level().message)
        .setMinRevision(minRevision)
        .build();
  }

  static BulkCheckRequest bulkCheck(Subject subject, Collection<String> permissions, Level level, String minRevision) {
    return BulkCheckRequest.newBuilder()
        .setEmail(subject.email())
        .setApp(subject.app())
        .setResourceType(subject.resource().type())
        .setResourceId(subject.resource().id())
        .addAllPermissions(permissions)
        .setAccessLevel(level.message)
        .setMinRevision(minRevision)
        .build();
  }

  static EffectiveRequest effective(Subject subject, String minRevision) {
    return EffectiveRequest.newBuilder()
        .setEmail(subject.email())
        .setApp(subject.app())
        .setResourceType(subject.resource().type())
        .setResourceId(subject.resource().id())
        .setMinRevision(minRevision)
        .build();
  }

  static ListSubjectsRequest subjects(Question question, String page, String minRevision) {
    return ListSubjectsRequest.newBuilder()
        .setApp(question.app())
        .setPermission(question.permission())
        .setResourceType(question.resource().type())
        .setResourceId(question.resource().id())
        .setAccessLevel(question.level().message)
        .setMinRevision(minRevision)
        .setPageSize(SUBJECTS_PAGE)
        .setPageToken(page)
        .build();
  }

  static ListResourcesRequest resources(Question question, String type, String page, String minRevision) {
    return ListResourcesRequest.newBuilder()
        .setEmail(question.email())
        .setApp(question.app())
        .setPermission(question.permission())
        .setResourceType(type)
        .setAccessLevel(question.level().message)
        .setMinRevision(minRevision)
        .setPageSize(RESOURCES_PAGE)
        .setPageToken(page)
        .build();
  }

  static Decision decision(CheckResponse answer) {
    return new Decision(
        answer.getAllowed(), Level.of(answer.getAccessLevel()), Source.of(answer.getSource()), answer.getRevision());
  }

  static Map<String, Decision> decisions(BulkCheckResponse answer) {
    Map<String, Decision> decisions = new LinkedHashMap<>();
    for (PermissionDecision one : answer.getResultsList()) {
      Decision decision =
          new Decision(one.getAllowed(), Level.of(one.getAccessLevel()), Source.of(one.getSource()), answer.getRevision());
      decisions.put(one.getPermission(), decision);
    }
    return Collections.unmodifiableMap(decisions);
  }

  static Effective effective(EffectiveResponse answer) {
    return new Effective(answer.getPermissionsList().stream().map(Wire::held).toList(), answer.getRevision());
  }

  private static Held held(EffectivePermission item) {
    return new Held(
        item.getCode(),
        item.getGranted(),
        Level.of(item.getAccessLevel()),
        Source.of(item.getSource()),
        item.getType() == PermissionType.PERMISSION_TYPE_TIERED,
        item.getGlobal(),
        item.hasGroupName() ? Optional.of(item.getGroupName()) : Optional.empty());
  }

  static Explanation explanation(ExplainResponse answer) {
    Decision decision =
        new Decision(
            answer.getAllowed(), Level.of(answer.getAccessLevel()), Source.of(answer.getSource()), answer.getRevision());
    List<RuleResult> rules =
        answer.getRulesList().stream()
            .map(one -> new RuleResult(one.getRuleValue(), one.getApplies(), one.getDecides(), Level.of(one.getAccessLevel())))
            .toList();
    return new Explanation(
        decision, rules, answer.getUserKnown(), answer.getApplicationKnown(), answer.getPermissionKnown());
  }

  static SubjectsPage subjectsPage(ListSubjectsResponse answer) {
    List<Holder> holders =
        answer.getSubjectsList().stream()
            .map(one -> new Holder(one.getEmail(), Level.of(one.getAccessLevel()), Source.of(one.getSource())))
            .toList();
    Optional<String> next = Optional.of(answer.getNextPageToken()).filter(token -> !token.isEmpty());
    return new SubjectsPage(holders, next, answer.getRevision());
  }

  static Changes changes(WatchResponse answer) {
    return new Changes(answer.getRevision(), answer.getChangesList().stream().map(Wire::change).toList(), answer.getReset());
  }

  private static Change change(io.github.usherservice.client.internal.usher.permission.v1.Change change) {
    return switch (change.getWhatCase()) {
      case APPLICATION -> new Change(Change.Kind.APPLICATION, Optional.of(change.getApplication()), Optional.empty());
      case EVERYTHING_IN_APPLICATION ->
          new Change(
              Change.Kind.EVERYTHING_IN_APPLICATION, Optional.of(change.getEverythingInApplication()), Optional.empty());
      case MEMBER ->
          new Change(
              Change.Kind.MEMBER, Optional.of(change.getMember().getApp()), Optional.of(change.getMember().getEmail()));
      case USER -> new Change(Change.Kind.USER, Optional.empty(), Optional.of(change.getUser()));
      // A kind that this version does not know may be about anything.
      case EVERYTHING, WHAT_NOT_SET -> new Change(Change.Kind.EVERYTHING, Optional.empty(), Optional.empty());
    };
  }
}
