{{- define "usher.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "usher.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "usher.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "usher.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a role: {root, role}. */}}
{{- define "usher.selector" -}}
app.kubernetes.io/name: {{ include "usher.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "usher.labels" -}}
{{ include "usher.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- define "usher.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "usher.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "usher.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/* The roles that are enabled, as a list in JSON. */}}
{{- define "usher.roles" -}}
{{- $roles := list -}}
{{- range $role := list "gateway" "rpc" "worker" "edge" -}}
{{- if (index $.Values $role).enabled }}{{ $roles = append $roles $role }}{{ end -}}
{{- end -}}
{{- toJson $roles -}}
{{- end -}}

{{/* Whether a role listens for gRPC: then "true". */}}
{{- define "usher.hasGrpc" -}}
{{- if has .role (list "rpc" "edge") }}true{{ end -}}
{{- end -}}

{{/* The variables of a container: {root, role, secrets}; an edge has secrets of its own, so that it is given no database. A role's own configuration goes before the common one. */}}
{{- define "usher.env" -}}
{{- $own := dict -}}
{{- if ne .role "migrate" }}{{ $own = (index .root.Values .role).config }}{{ end -}}
{{- $config := merge (deepCopy $own) (deepCopy .root.Values.config) -}}
{{- if eq .role "edge" }}{{ $config = $own }}{{ end -}}
{{- $set := dict "OPS_PORT" "9090" -}}
{{- if eq .role "gateway" }}{{ $_ := set $set "HTTP_PORT" "8080" }}{{ end -}}
{{- if include "usher.hasGrpc" . }}{{ $_ := set $set "GRPC_PORT" "50051" }}{{ end -}}
{{- if has .role (list "gateway" "rpc" "worker") }}{{ $_ := set $set "USHER_ROLES" .role }}{{ end -}}
{{- if and (include "usher.hasGrpc" .) .root.Values.grpcTls.secretName -}}
{{- $_ := set $set "GRPC_TLS_CERT" "/run/usher/grpc-tls/tls.crt" -}}
{{- $_ := set $set "GRPC_TLS_KEY" "/run/usher/grpc-tls/tls.key" -}}
{{- if .root.Values.grpcTls.mutual }}{{ $_ := set $set "GRPC_TLS_CLIENT_CA" "/run/usher/grpc-tls/ca.crt" }}{{ end -}}
{{- end -}}
{{- if eq .role "edge" -}}
{{- $up := .root.Values.edge.upstream -}}
{{- $_ := set $set "UPSTREAM_ADDRESS" $up.address -}}
{{- if $up.plaintext }}{{ $_ := set $set "UPSTREAM_PLAINTEXT" "true" }}{{ end -}}
{{- if $up.caSecretName }}{{ $_ := set $set "UPSTREAM_CA" "/run/usher/upstream-ca/ca.crt" }}{{ end -}}
{{- end -}}
{{- range $name := keys .secrets | sortAlpha }}{{ $_ := set $set (printf "%s_FILE" $name) (printf "/run/usher/secrets/%s" $name) }}{{ end -}}
{{- $all := merge $set $config -}}
{{- range $name := keys $all | sortAlpha }}
{{- $value := index $all $name }}
{{- /* Helm holds numbers as floats, which it writes as 3.6e+06. */}}
- name: {{ $name }}
  value: {{ kindIs "float64" $value | ternary (int64 (kindIs "float64" $value | ternary $value 0)) $value | toString | quote }}
{{- end }}
{{- end -}}

{{- define "usher.volumeMounts" -}}
{{- if .secrets }}
- {name: secrets, mountPath: /run/usher/secrets, readOnly: true}
{{- end }}
{{- if and (include "usher.hasGrpc" .) .root.Values.grpcTls.secretName }}
- {name: grpc-tls, mountPath: /run/usher/grpc-tls, readOnly: true}
{{- end }}
{{- if and (eq .role "edge") .root.Values.edge.upstream.caSecretName }}
- {name: upstream-ca, mountPath: /run/usher/upstream-ca, readOnly: true}
{{- end }}
{{- end -}}

{{- define "usher.volumes" -}}
{{- with .secrets }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $name := keys . | sortAlpha }}
      {{- $from := get $.secrets $name }}
      - secret:
          name: {{ $from.name }}
          items: [{key: {{ $from.key | quote }}, path: {{ $name }}}]
      {{- end }}
{{- end }}
{{- if and (include "usher.hasGrpc" .) .root.Values.grpcTls.secretName }}
- name: grpc-tls
  secret: {secretName: {{ .root.Values.grpcTls.secretName }}, defaultMode: 0440}
{{- end }}
{{- if and (eq .role "edge") .root.Values.edge.upstream.caSecretName }}
- name: upstream-ca
  secret: {secretName: {{ .root.Values.edge.upstream.caSecretName }}, defaultMode: 0440}
{{- end }}
{{- end -}}

{{/* The profile "restricted" of Kubernetes, by the numbers of the image. */}}
{{- define "usher.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "usher.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}
