/** The floor of REST here: an express 5 route that reads a JSON body and answers JSON, and one that only answers, without ETag. Argument: the port. */
import express from 'express';

/** As long as a user's record. */
const PROFILE = {
  id: 12,
  email: 'ada@example.com',
  firstName: 'Ada',
  lastName: 'Lovelace',
  displayName: 'Ada Lovelace',
  avatarUrl: null,
  locale: null,
  theme: 'system',
  timezone: null,
  brand: 'default',
  identityProfileUrl: null,
  createdAt: '2026-11-21T10:00:05.400Z',
  updatedAt: '2026-11-21T10:00:05.400Z',
};

const app = express();
app.disable('etag');
app.disable('x-powered-by');
app.post('/api/check', express.json(), (_request, response) => {
  response.json({ success: true, data: { allowed: true } });
});

app.get('/api/profile/me', (_request, response) => {
  response.json({ success: true, data: PROFILE });
});

app.post('/api/profile/me/apps/:appCode/activity', (_request, response) => {
  response.json({ success: true, data: { recorded: false } });
});

const server = app.listen(Number(process.argv[2] ?? 0), '127.0.0.1');
server.maxRequestsPerSocket = 10_000;
// As the service's: its connections are idle while the other server's turn is.
server.keepAliveTimeout = 65_000;
process.on('SIGTERM', () => process.exit(0));
