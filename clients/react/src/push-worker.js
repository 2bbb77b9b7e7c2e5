// The service worker: shows what Usher sends, {title, body, icon, url}, and opens its page on a click. Copy it to the root of the
// application, or load it into a worker of its own by importScripts.

self.addEventListener('push', (event) => {
  const { title, body, icon, url } = event.data.json();
  const options = { body, data: { url }, ...(icon === null ? {} : { icon }) };
  event.waitUntil(self.registration.showNotification(title, options));
});

self.addEventListener('notificationclick', (event) => {
  event.notification.close();
  const { url } = event.notification.data;
  if (url !== null) event.waitUntil(self.clients.openWindow(url));
});
