/** The floor of REST here: one express 5 route that reads a JSON body and answers JSON, without ETag. Argument: the port. */
import express from 'express';

const app = express();
app.disable('etag');
app.disable('x-powered-by');
app.post('/api/check', express.json(), (_request, response) => {
  response.json({ success: true, data: { allowed: true } });
});

const server = app.listen(Number(process.argv[2] ?? 0), '127.0.0.1');
server.maxRequestsPerSocket = 10_000;
process.on('SIGTERM', () => process.exit(0));
