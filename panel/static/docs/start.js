/**
 * Starts Swagger UI at /api/docs (docs/reference/service.md#documents). A file of its own: the policy of the page lets in
 * neither inline scripts nor HTML made from text.
 */
(() => {
  const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
  const byId = (id) => document.getElementById(id);

  // To a browser 127.0.0.1 is not localhost: there the service would take this page for a foreign one.
  const home = URL.parse(document.body.dataset.home);
  if (home?.protocol === 'http:' && LOOPBACK.test(home.hostname) && LOOPBACK.test(location.hostname)) {
    const here = new URL(location.href);
    if (here.hostname !== home.hostname) {
      here.hostname = home.hostname;
      location.replace(here);
      return;
    }
  }

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();

  // The code of a development start, from a link: behind "#" it reaches no server and no log.
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1] ?? '';
  if (code !== '') history.replaceState(null, '', location.pathname);

  /** Descriptions are sentences with `code` in them: elements, where Swagger UI would insert HTML. */
  const plainText = (system) => {
    const { createElement } = system.React;
    const Text = ({ source, className }) => {
      if (typeof source !== 'string' || source === '') return null;
      const paragraphs = source.split(/\n{2,}/).map((text, at) =>
        createElement(
          'p',
          { key: at },
          text.split('`').map((part, place) => (place % 2 === 1 ? createElement('code', { key: place }, part) : part)),
        ),
      );
      return createElement('div', { className: `markdown ${className ?? ''}` }, paragraphs);
    };
    return { wrapComponents: { Markdown: () => Text } };
  };

  const ui = SwaggerUIBundle({
    url: '/api/openapi.json',
    dom_id: '#swagger-ui',
    deepLinking: true,
    filter: true,
    // Groups are closed: the page would otherwise draw some two hundred operations before the first can be read.
    docExpansion: 'none',
    tryItOutEnabled: true,
    displayRequestDuration: true,
    defaultModelsExpandDepth: -1,
    // The answers of this service alone are read; nothing is sent to a validator.
    validatorUrl: null,
    plugins: [plainText],
    onComplete: () => nameControls(),
  });

  /** Swagger UI leaves its filter without a name. */
  function nameControls() {
    document.querySelector('.operation-filter-input')?.setAttribute('aria-label', 'Filter by tag or path');
  }

  const form = byId('sign-in');
  const people = byId('people');
  const said = byId('said');

  async function ask(method, body) {
    const query = new URLSearchParams({ code: byId('code').value.trim() });
    const answer = await fetch(`/dev/sign-in?${query}`, {
      method,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const { data, message } = await answer.json();
    if (!answer.ok) throw new Error(message);
    return data;
  }

  /** Runs a step of signing in and says what came of it. */
  async function attempt(step) {
    try {
      said.textContent = await step();
    } catch (error) {
      said.textContent = error.message;
    }
  }

  const find = () =>
    attempt(async () => {
      const { people: found } = await ask('GET');
      people.replaceChildren(
        ...found.map(({ email, description }) => {
          const button = document.createElement('button');
          button.type = 'button';
          button.textContent = email;
          button.title = description;
          button.addEventListener('click', () => be(email));
          return button;
        }),
      );
      return 'Who do you want to be?';
    });

  const be = (email) =>
    attempt(async () => {
      const { token } = await ask('POST', { email });
      ui.preauthorizeApiKey('bearer', token);
      return `Calls are made as ${email}, for an hour.`;
    });

  async function offerSignIn() {
    const answer = await fetch('/panel/config.json');
    // 404 where the panel is disabled: tokens are pasted under "Authorize".
    if (!answer.ok || (await answer.json()).signIn !== 'development') return;
    form.hidden = false;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      void find();
    });
    if (code === '') return;
    byId('code').value = code;
    await find();
  }

  void offerSignIn();
})();
