/** The values of the chart, once: from here come values.schema.json and the table in the chart's README (`npm run generate`). */

import { KEYS } from '../../src/config/keys.ts';
import type { Key } from '../../src/config/kinds.ts';
import { fileVariables } from '../../src/config/secrets.ts';

export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly [keyword: string]: unknown;
}

/** Variables that the chart sets by itself, or that a pod of it cannot have. */
const BY_THE_CHART =
  /^(?:USHER_ROLES|DATA_DIR|DATABASE_EMBEDDED|(?:HTTP|GRPC|OPS)_(?:HOST|PORT)|(?:GRPC|HTTP)_TLS_.+|UPSTREAM_.+)$/;

/** The variables of secrets, without `_FILE`. */
const SECRETS = fileVariables()
  .map((name) => name.replace(/_FILE$/, ''))
  .sort();
const CONFIG = Object.values<Key<unknown>>(KEYS)
  .filter(({ variable, secret }) => !secret && !BY_THE_CHART.test(variable))
  .map(({ variable }) => variable)
  .sort();

const object = (description: string, properties: Record<string, Schema>, required: readonly string[] = []): Schema => ({
  type: 'object',
  description,
  additionalProperties: false,
  properties,
  ...(required.length > 0 && { required }),
});
const text = (description: string): Schema => ({ type: 'string', description });
const flag = (description: string): Schema => ({ type: 'boolean', description });
const whole = (description: string, minimum = 1, maximum?: number): Schema => ({
  type: 'integer',
  description,
  minimum,
  ...(maximum !== undefined && { maximum }),
});
/** What Kubernetes itself has a schema of. */
const native = (type: 'object' | 'array', description: string): Schema => ({ type, description });
const labels = (description: string): Schema => ({
  type: 'object',
  description,
  additionalProperties: { type: 'string' },
});

const config = (description: string): Schema => ({
  type: 'object',
  description,
  propertyNames: { enum: CONFIG },
  additionalProperties: { type: ['string', 'integer', 'boolean'], minLength: 1 },
});
const secrets = (names: readonly string[], description: string): Schema => ({
  type: 'object',
  description,
  propertyNames: { enum: names },
  additionalProperties: object('A key of a Secret.', { name: text('Its name.'), key: text('The key in it.') }, [
    'name',
    'key',
  ]),
});

const roleValues = (what: string): Record<string, Schema> => ({
  enabled: flag(`Whether there are pods ${what}.`),
  replicas: whole('How many, without `autoscaling`.', 0),
  config: config('As `config`, for this role alone; it goes before the common one.'),
  resources: native('object', 'Requests and limits. Memory: 150 MB and the caches, for each of `GRPC_PROCESSES`.'),
  autoscaling: object('A HorizontalPodAutoscaler.', {
    enabled: flag('Whether there is one.'),
    minReplicas: whole('The fewest pods.'),
    maxReplicas: whole('The most pods.'),
    cpuPercent: whole('The use of requested CPU that it aims at.', 1, 100),
  }),
  disruption: object('The PodDisruptionBudget.', {
    maxUnavailable: { type: ['integer', 'string'], description: 'How many pods a drain may take at once.' },
  }),
  nodeSelector: labels('Of the pods.'),
  tolerations: native('array', 'Of the pods.'),
  affinity: native('object', 'Of the pods.'),
});
const service = (more: Record<string, Schema> = {}): Schema =>
  object('The Service.', {
    type: { enum: ['ClusterIP', 'LoadBalancer', 'NodePort'], description: 'Its type.' },
    port: whole('Its port.', 1, 65_535),
    annotations: labels('Its annotations.'),
    ...more,
  });
const headless = { headless: flag('Whether its name leads to every pod, for clients that balance by themselves.') };

export function valuesSchema(): Schema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    ...object('Values of the chart usher.', {
      global: native('object', 'Set by charts that contain this one; not read.'),
      image: object('The image: deploy/image.', {
        repository: text('Its name, with the registry that you push it to.'),
        tag: text('Its tag; by default the version of the chart.'),
        digest: text('`sha256:…` instead of a tag.'),
        pullPolicy: { enum: ['Always', 'IfNotPresent', 'Never'], description: 'When it is pulled.' },
      }),
      imagePullSecrets: native('array', '`[{name: SECRET}]`'),
      nameOverride: text('Instead of `usher` in names and labels.'),
      fullnameOverride: text('Instead of `RELEASE-usher`.'),
      serviceAccount: object('The account of the pods, which is given no token.', {
        create: flag('Whether the chart makes it.'),
        name: text('Its name; by default that of the release.'),
        annotations: labels('Its annotations.'),
      }),
      config: config(
        'Configuration of gateway, rpc, worker and migrate by [variable](../../../docs/operations/configuration.md), without secrets. `AUTH_ISSUER` and `AUTH_AUDIENCE` are required, with the gateway also `PUBLIC_URL`.',
      ),
      secrets: secrets(
        SECRETS.filter((name) => name !== 'UPSTREAM_KEY'),
        'Secrets of the same by variable: `{name, key}` of a Secret that exists; mounted as files. `DATABASE_URL` and `INTERNAL_API_KEY` are required.',
      ),
      grpcTls: object('TLS of the gRPC port.', {
        secretName: text('A Secret with `tls.crt` and `tls.key`; empty for cleartext.'),
        mutual: flag('Whether clients must show a certificate of the authority `ca.crt` in it.'),
      }),
      terminationGracePeriodSeconds: whole('At least `SHUTDOWN_NOTICE_MS` and 25 s.', 30, 3600),
      podAnnotations: labels('Of all pods but that of migrate.'),
      podLabels: labels('Of all pods but that of migrate.'),
      migrate: object('The job that migrates the database before an installation and an upgrade.', {
        enabled: flag('Whether there is one. Without it run `usher migrate` yourself.'),
        backoffLimit: whole('How often it is tried again.', 0),
        deadlineSeconds: whole('How long it may take with all tries.'),
        resources: native('object', 'Requests and limits.'),
      }),
      gateway: object('REST, Connect, the panel.', {
        ...roleValues('for REST, Connect and the panel'),
        service: service(),
        ingress: object('An Ingress to it. Set `config.TRUST_PROXY` with it.', {
          enabled: flag('Whether there is one.'),
          className: text('Its class.'),
          host: text('The host name of `config.PUBLIC_URL`.'),
          tlsSecretName: text('A Secret with the certificate.'),
          annotations: labels('Its annotations.'),
        }),
      }),
      rpc: object('gRPC.', { ...roleValues('for gRPC'), service: service(headless) }),
      worker: object('Mail and push.', roleValues('that deliver mail and push')),
      edge: object('[Edges](../../../docs/guides/edges.md) of another Usher, without a database.', {
        ...roleValues('that are edges'),
        config: config('Configuration of the edges: `config` is not theirs.'),
        upstream: object('Whom they ask.', {
          address: text('`host:port`'),
          plaintext: flag('Whether the connection is cleartext instead of TLS.'),
          caSecretName: text('A Secret with the authority `ca.crt` of its certificate.'),
        }),
        secrets: secrets(
          ['INTERNAL_API_KEY', 'UPSTREAM_KEY'],
          'As `secrets`, for edges alone. `UPSTREAM_KEY` and `INTERNAL_API_KEY` are required.',
        ),
        service: service(headless),
      }),
      networkPolicy: object('Who reaches the pods.', {
        enabled: flag('Whether there are policies.'),
        callersFrom: native('array', 'Peers that reach REST and gRPC; empty for all.'),
        opsFrom: native(
          'array',
          'Peers that reach the port of metrics and probes, which asks for no key; empty for none.',
        ),
        egress: native('array', 'Rules for what the pods reach; empty for no limit.'),
      }),
      metrics: object('For the Prometheus operator.', {
        serviceMonitor: object('A ServiceMonitor of all pods.', {
          enabled: flag('Whether there is one.'),
          interval: text('How often.'),
          labels: labels('By which a Prometheus selects it.'),
        }),
        prometheusRule: object('A PrometheusRule.', {
          enabled: flag('Whether there is one.'),
          labels: labels('By which a Prometheus selects it.'),
          groups: native('array', 'Its groups of rules.'),
        }),
      }),
    }),
  };
}
