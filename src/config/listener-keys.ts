/** The first rows of the table of keys: listeners, their end, the upstream and the database. */

import { KEY_EXAMPLE } from './examples.ts';
import * as kind from './kinds.ts';
import { key } from './kinds.ts';
import { listeners, SURFACES, surface } from './listeners.ts';

/** A PEM file, read again by a reload. */
const pem = (file: string, about: string) =>
  key(kind.text, { example: `/etc/usher/${file}`, default: null, reload: 'path', about });

export const LISTENERS_AND_DATABASE = {
  'http.host': key(kind.host, {
    default: ({ production }) => (production ? '0.0.0.0' : '127.0.0.1'),
    otherwise: '127.0.0.1; in production 0.0.0.0',
    about: 'The address at which the gateway listens.',
  }),
  'http.port': key(kind.port, { default: 8080, about: 'The port of the gateway; 0 picks a free one and prints it.' }),
  'http.tls.cert': pem(
    'tls.crt',
    'A PEM file, with `http.tls.key`. Without it the gateway is cleartext, for a proxy that ends TLS: [guides/reload-and-tls.md](../guides/reload-and-tls.md).',
  ),
  'http.tls.key': pem('tls.key', "The PEM file of the certificate's key."),
  'http.tls.clientCa': pem(
    'clients.crt',
    'A PEM file; with it every client of the gateway, browsers too, must show a certificate of that authority (mutual TLS).',
  ),
  'http.trustProxy': key(kind.flag, {
    variable: 'TRUST_PROXY',
    default: false,
    about: 'Whether exactly one proxy stands before the gateway, whose `X-Forwarded-For` is trusted.',
  }),
  'http.rateLimit': key(kind.count, {
    example: '600',
    default: null,
    about:
      'Requests per minute and caller; an IPv6 /64 counts as one address. An address that sends more wrong keys or webhook secrets than that gets 429, even for valid ones, until the minute is over.',
  }),
  'http.maxConnections': key(kind.count, {
    example: '2000',
    default: null,
    otherwise: 'half of the descriptors that the system allows and the database leaves',
    about:
      'Connections of the gateway. At most half of them, and 1,024, may be of clients that have shown no right key or token: [Limits of connections](secure.md#limits-of-connections).',
  }),
  'http.serves': key(kind.filled(surface), {
    default: [...SURFACES],
    otherwise: 'everything',
    about:
      'What this listener serves, of `people`, `administration`, `backends`, `webhooks`, `panel`, `operations`: [guides/listeners.md](../guides/listeners.md#what-a-listener-serves).',
  }),
  'grpc.host': key(kind.host, {
    default: (before) => before['http.host'] as string,
    otherwise: 'as http.host',
    about: 'The address at which gRPC listens.',
  }),
  'grpc.port': key(kind.port, { default: 50051, about: 'The port of gRPC; 0 picks one.' }),
  'grpc.tls.cert': pem('tls.crt', 'A PEM file, with `grpc.tls.key`. Without it gRPC is cleartext.'),
  'grpc.tls.key': pem('tls.key', "The PEM file of the certificate's key."),
  'grpc.tls.clientCa': pem(
    'clients.crt',
    'A PEM file; with it clients must show a certificate of that authority (mutual TLS).',
  ),
  'grpc.front': key(kind.flag, {
    default: true,
    about:
      'The service reads HTTP/2 itself and answers Check, BulkCheck, BatchCheck, Effective and facts at once; other calls pass through. Off, grpc-js has the port.',
  }),
  'grpc.processes': key(kind.whole(1, 256), {
    default: 1,
    about:
      'Processes that answer gRPC on the port, each with caches of its own. Above 1 the first process answers none: [Several cores](scale.md#several-cores).',
  }),
  'grpc.connectionAgeMs': key(kind.whole(1000, 86_400_000), {
    default: 300_000,
    about:
      'The age, ± 10 %, at which a connection of gRPC is told to end, so that clients spread over new instances: [Limits of connections](secure.md#limits-of-connections).',
  }),
  'grpc.connectionGraceMs': key(kind.whole(1000, 3_600_000), {
    default: 20_000,
    about: 'How long its last calls and streams may take then, before they are cut.',
  }),
  'grpc.connectionIdleMs': key(kind.whole(1000, 86_400_000), {
    default: 600_000,
    about: 'How long a connection of gRPC may be without a call before it is told to end.',
  }),
  'grpc.maxConnections': key(kind.count, {
    example: '2000',
    default: null,
    otherwise: 'half of the descriptors that the system allows and the database leaves',
    about:
      'Connections of gRPC, for each process. At most half of them, and 1,024, may be of clients that have shown no right key: [Limits of connections](secure.md#limits-of-connections).',
  }),
  'grpc.reflection': key(kind.flag, {
    default: ({ production }) => !production,
    otherwise: 'true outside production',
    about: 'Whether gRPC describes itself to every client.',
  }),
  'grpc.extAuthz': key(kind.flag, {
    default: false,
    about:
      "Whether the port answers Envoy's `envoy.service.auth.v3.Authorization/Check`, not at an edge: [guides/gateways.md](../guides/gateways.md#envoy).",
  }),
  'upstream.address': key(kind.address, {
    example: 'usher.internal:50051',
    default: null,
    about:
      'Another Usher. With it this process is an edge: neither database nor gateway, it answers gRPC from facts that it asks there: [guides/edges.md](../guides/edges.md).',
  }),
  'upstream.key': key(kind.text, {
    example: KEY_EXAMPLE,
    default: null,
    otherwise: 'none; outside production the key in dataDir',
    secret: true,
    reload: 'value',
    about: 'The key that the upstream accepts, with the scope `facts`.',
  }),
  'upstream.ca': key(kind.text, {
    example: '/etc/usher/upstream-ca.crt',
    default: null,
    otherwise: 'the authorities that Node.js knows',
    reload: 'path',
    about: "A PEM file: the authority of the upstream's certificate.",
  }),
  'upstream.plaintext': key(kind.flag, {
    default: null,
    otherwise: 'true to loopback, false to all else',
    about: 'Whether the connection to the upstream is cleartext instead of TLS.',
  }),
  'ops.port': key(kind.port, {
    example: '9090',
    default: null,
    about: 'A listener for metrics and probes alone, whatever the roles are. Without it metrics are at the gateway.',
  }),
  'ops.host': key(kind.host, {
    default: (before) => (before['ops.port'] === null ? null : (before['http.host'] as string)),
    otherwise: 'as http.host',
    about: 'The address of that listener.',
  }),
  listeners: key(listeners, {
    variable: 'USHER_LISTENERS',
    example: '[{"for":"http","addresses":["unix:/run/usher/http.sock"]}]',
    default: [],
    about:
      'Further listeners: addresses and UNIX sockets, each with its own TLS and surfaces: [guides/listeners.md](../guides/listeners.md). JSON in the environment.',
  }),
  'shutdown.noticeMs': key(kind.whole(0, 300_000), {
    default: ({ production }) => (production ? 5000 : 0),
    otherwise: '5000 in production, else 0',
    example: '5000',
    about:
      'How long a process that ends still takes calls and connections after it has said that it is not ready, so that balancers can notice: [Stopping it](upgrade.md#stopping-it).',
  }),
  'database.url': key(kind.databaseUrl, {
    example: 'postgresql://usher@localhost:5432/usher',
    default: null,
    secret: true,
    about:
      'A PostgreSQL database: one host, the primary or a proxy of it. Default: the embedded database in dataDir; required in production.',
  }),
  'database.directUrl': key(kind.databaseUrl, {
    example: 'postgresql://usher@localhost:5432/usher',
    default: null,
    secret: true,
    otherwise: 'database.url',
    about:
      'The same database past the pooler that database.url leads to, for LISTEN and migrations: one or two connections a process.',
  }),
  'database.factsUrl': key(kind.databaseUrl, {
    example: 'postgresql://usher@replica:5432/usher',
    default: null,
    secret: true,
    otherwise: 'database.url',
    about:
      'Streaming replicas of the same database, at one address: they answer what checks have to read, however far they are behind. Up to five connections a process: [Replicas for facts](../guides/postgresql.md#replicas-for-facts).',
  }),
  'database.embedded': key(kind.flag, {
    default: null,
    about: '`true` allows the embedded database in production, `false` rules it out everywhere.',
  }),
  'database.waitMs': key(kind.whole(0, 86_400_000), {
    default: ({ production }) => (production ? 900_000 : 0),
    otherwise: '900000 in production, else 0',
    example: '900000',
    about:
      'How long a start waits for a database that is away, starting or full, or a standby that lacks migrations, before it fails: [A database that is not there yet](install.md#a-database-that-is-not-there-yet).',
  }),
  'database.poolSize': key(kind.whole(1, 500), { default: 10, about: 'Connections for reads and writes.' }),
  'database.earlyRelease': key(kind.flag, {
    default: false,
    about:
      'Whether policy writes share one wait for the disk and the synchronous standby, instead of one after the other. PostgreSQL only; best the same for all instances: [guides/postgresql.md](../guides/postgresql.md#many-policy-writes).',
  }),
  'backup.everyHours': key(kind.whole(1, 8760), {
    default: null,
    otherwise: 'none are made by themselves',
    about:
      'How often a backup of the embedded database is made while the service runs: [backup.md](backup.md#on-a-schedule).',
  }),
  'backup.keep': key(kind.whole(1, 10_000), {
    default: 7,
    about: 'The newest backups of the schedule that are kept; older ones are removed.',
  }),
  'backup.dir': key(kind.filledText, {
    example: '/var/backups/usher',
    default: null,
    otherwise: '`{dataDir}/backups`',
    about: 'Where backups of the schedule are written; best on another disk.',
  }),
  'database.migrateOnStart': key(kind.flag, {
    default: (before) => !before.production || before['database.url'] === null,
    otherwise: 'true outside production and for the embedded database',
    about: 'Whether a start migrates the database. If not, a start with pending migrations is refused.',
  }),
};
