// Keeps all files of the playground, so that it works offline. A build changes NAME, and the browser then installs it anew.
const NAME = "playground-%DIGEST%";
const FILES = %FILES%;

addEventListener("install", (event) => event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(FILES))));
addEventListener("activate", (event) => {
  const ended = async () => {
    const others = (await caches.keys()).filter((one) => one.startsWith("playground-") && one !== NAME);
    await Promise.all(others.map((one) => caches.delete(one)));
    await clients.claim();
  };
  event.waitUntil(ended());
});
addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(registration.scope)) return;
  const answered = async () => (await (await caches.open(NAME)).match(event.request, { ignoreSearch: true })) ?? fetch(event.request);
  event.respondWith(answered());
});
