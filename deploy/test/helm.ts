/**
 * The chart: linted, rendered with each file of deploy/helm/usher/ci and the values of the guide, held to the schemas of Kubernetes, and every container's
 * variables read as the service reads them. Run by .ci/run; HELM and KUBERNETES_VALIDATE name the two tools.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { CONFIG_CHECKS } from '../../src/app/config-checks.ts';
import { toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';
import { fileVariables } from '../../src/config/secrets.ts';
import { must } from './service.ts';

const CHART = resolve(import.meta.dirname, '../helm/usher');
const HELM = process.env.HELM ?? 'helm';
const VALIDATE = process.env.KUBERNETES_VALIDATE ?? 'kubernetes-validate';
/** The oldest that the chart is for, and the newest whose schemas there are. */
const VERSIONS = ['1.27.0', '1.37.0'];
/** Of the Prometheus operator, which kubernetes-validate has no schemas of. */
const FOREIGN = ['ServiceMonitor', 'PrometheusRule'];

interface Container {
  readonly name: string;
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly securityContext: Record<string, unknown>;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly: boolean }[];
}
interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> };
  readonly spec?: {
    readonly template?: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: { readonly containers: readonly Container[]; readonly terminationGracePeriodSeconds?: number };
    };
  };
}

const VARIABLES = new Set([...Object.values(KEYS).map(({ variable }) => variable), ...fileVariables()]);
/** What the files of secrets hold: values that fit their keys. */
const SECRET: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgresql://usher@db/usher',
  DATABASE_DIRECT_URL: 'postgresql://usher@db:5433/usher',
  INTERNAL_API_KEY: 'billing:check:0123456789abcdef01234567',
  BRAND_SMTP_KEY: `${'A'.repeat(43)}=`,
  UPSTREAM_KEY: '0123456789abcdef01234567',
};

const work = mkdtempSync(join(tmpdir(), 'usher-helm-'));
try {
  const guide = readFileSync(resolve(CHART, '../../../docs/guides/deploy.md'), 'utf8');
  const shown = join(work, 'of-the-guide.yaml');
  writeFileSync(shown, /```yaml\n([\s\S]+?)```/.exec(guide)?.[1] ?? '');
  for (const values of [...readdirSync(join(CHART, 'ci')).map((name) => join(CHART, 'ci', name)), shown]) {
    const lint = run(HELM, 'lint', '--strict', '--kube-version', '1.31.0', CHART, '--values', values);
    must(lint.status === 0, lint.output);
    for (const version of VERSIONS) validate(render(values, version), version);
    const resources = resourcesOf(render(values, '1.31.0'));
    for (const resource of resources) inspect(resource);
    console.log(`${basename(values)}: ${resources.map(({ kind }) => kind).join(' ')}`);
  }
  expectRoles();
  refuse();
} finally {
  rmSync(work, { recursive: true });
}

function run(file: string, ...args: string[]): { status: number | null; output: string; stdout: string } {
  const { status, stdout, stderr, error } = spawnSync(file, args, { encoding: 'utf8', maxBuffer: 64 << 20 });
  if (error !== undefined) throw error;
  return { status, stdout, output: stdout + stderr };
}

function render(values: string, version: string): string {
  const options = ['--namespace', 'identity', '--kube-version', version, '--values', values];
  const { status, stdout, output } = run(HELM, 'template', 'test', CHART, ...options);
  must(status === 0, output);
  return stdout;
}

function resourcesOf(text: string): Resource[] {
  return parseAllDocuments(text).flatMap((document) => (document.toJS() as Resource | null) ?? []);
}

function validate(text: string, version: string): void {
  const own = resourcesOf(text).filter(({ kind }) => !FOREIGN.includes(kind));
  const file = join(work, 'rendered.yaml');
  writeFileSync(file, own.map((resource) => JSON.stringify(resource)).join('\n---\n'));
  const { status, output } = run(VALIDATE, '--strict', '--kubernetes-version', version.replace(/\.0$/, ''), file);
  must(status === 0 && !/could(?:n't| not) find/i.test(output), output);
  must((output.match(/passed/g) ?? []).length === own.length, `not all were validated:\n${output}`);
}

/** No Secret is made, everything is restricted, and what runs starts with the variables that it is given. */
function inspect({ kind, metadata, spec }: Resource): void {
  must(kind !== 'Secret' && kind !== 'ConfigMap', `a ${kind} is made: ${metadata.name}`);
  for (const container of spec?.template?.spec.containers ?? []) {
    const { readOnlyRootFilesystem, allowPrivilegeEscalation } = container.securityContext;
    must(readOnlyRootFilesystem === true && allowPrivilegeEscalation === false, `${metadata.name} is not restricted`);
    must(
      (container.volumeMounts ?? []).every(({ readOnly }) => readOnly),
      `${metadata.name} has a writable volume`,
    );
    configOf(container);
  }
}

function configOf({ name, env }: Container) {
  for (const { name: variable } of env) must(VARIABLES.has(variable), `${name}: ${variable} is no variable of Usher`);
  const mounted = env.filter(({ value }) => value.startsWith('/run/usher/secrets/'));
  const secretFiles = new Map(
    mounted.map(({ name: file }) => {
      const text = SECRET[file.replace(/_FILE$/, '')];
      must(text !== undefined, `${name}: no value of ${file} to try`);
      return [file, { text }] as const;
    }),
  );
  const plain = Object.fromEntries(env.map(({ name: variable, value }) => [variable, value]));
  return toConfig({ env: { NODE_ENV: 'production', ...plain }, secretFiles }, CONFIG_CHECKS);
}

/** What each role is given, in the fullest set of values. */
function expectRoles(): void {
  const resources = resourcesOf(render(join(CHART, 'ci/everything.yaml'), '1.31.0'));
  const of = (component: string, kind: string) => {
    const found = resources.find(
      (each) => each.kind === kind && each.metadata.labels['app.kubernetes.io/component'] === component,
    );
    const container = found?.spec?.template?.spec.containers[0];
    must(container !== undefined, `no ${kind} of ${component}`);
    return { container, config: configOf(container) };
  };
  for (const role of ['gateway', 'rpc', 'worker'] as const) {
    const { config } = of(role, 'Deployment');
    must(config.roles.join() === role && config.ops?.port === 9090, `${role} has the roles ${config.roles.join()}`);
    must((config.grpc.tls !== null) === (role === 'rpc'), `TLS of ${role}`);
  }
  const { config: edge } = of('edge', 'Deployment');
  must(edge.database.url === null && edge.upstream.key !== null, 'an edge has a database, or no key');
  must(of('migrate', 'Job').container.args?.join() === 'migrate', 'the job does not migrate');
  console.log('each role has its configuration, and reads it');
}

/** Values that are refused, with the words that name them. */
function refuse(): void {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['--set=gatway.replicas=3', /gatway/],
    ['--set=rpc.replica=3', /replica/],
    ['--set=rpc.replicas=many', /rpc\/replicas|rpc\.replicas/],
    ['--set=config.AUTH_ISUER=https://idp.example.com', /AUTH_ISUER/],
    ['--set=config.DATABASE_URL=postgresql://u:hunter2@db/usher', /DATABASE_URL/],
    ['--set=config.INTERNAL_API_KEY=hunter2', /INTERNAL_API_KEY/],
    ['--set=config.OPS_PORT=1', /OPS_PORT/],
    ['--set=secrets.LOG_LEVEL.name=a,secrets.LOG_LEVEL.key=b', /LOG_LEVEL/],
    ['--set-string=secrets.USHER_SECRET_KEY=hunter2', /USHER_SECRET_KEY/],
    ['--set=config.SHUTDOWN_NOTICE_MS=30000', /terminationGracePeriodSeconds: 45 is shorter/],
    ['--set=edge.enabled=true', /edge\.upstream\.address: is required/],
    ['--set=metrics.serviceMonitor.enabled=true', /networkPolicy\.opsFrom: is empty/],
    ['--set=gateway.ingress.enabled=true', /gateway\.ingress\.host: is required/],
  ];
  const ordinary = ['template', 'test', CHART, '--kube-version', '1.31.0', '--values', join(CHART, 'ci/ordinary.yaml')];
  must(run(HELM, ...ordinary).status === 0, 'the ordinary values are refused');
  const nothing = run(HELM, 'template', 'test', CHART, '--kube-version', '1.31.0');
  must(/secrets\.DATABASE_URL: is required/.test(nothing.output), nothing.output);
  const keys = ['DATABASE_URL', 'INTERNAL_API_KEY'].map((name) => `--set=secrets.${name}.name=a,secrets.${name}.key=b`);
  const open = run(HELM, 'template', 'test', CHART, '--kube-version', '1.31.0', ...keys);
  must(/config\.AUTH_ISSUER: is required/.test(open.output), open.output);
  for (const [option, words] of cases) {
    const { status, output } = run(HELM, ...ordinary, option);
    must(status !== 0 && words.test(output), `${option} is not refused with ${String(words)}:\n${output}`);
    must(!output.includes('hunter2'), `${option}: the secret is printed:\n${output}`);
  }
  const number = run(
    HELM,
    ...ordinary,
    '--set=config.GRPC_CONNECTION_AGE_MS=3600000',
    '--show-only=templates/deployments.yaml',
  );
  must(/value: "3600000"/.test(number.stdout), 'a large number is not written out');
  const { version } = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string };
  const own = JSON.parse(readFileSync(resolve(CHART, '../../../package.json'), 'utf8')) as { version: string };
  must(version === own.version, 'the chart has another version than the package');
  console.log(`${cases.length} sets of bad values are refused`);
}
