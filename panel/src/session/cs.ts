import type { session as en } from './en.ts';

export const session: typeof en = {
  title: 'Přihlášení',
  signIn: 'Přihlásit se',
  withProvider: (issuer) => `Přihlásit se u ${issuer}`,
  leaving: 'Přechází se k poskytovateli identity…',
  signOut: 'Odhlásit se',
  signedOut: 'Jste odhlášeni.',
  failed: 'Poskytovatel identity vás nepřihlásil.',
  providerAway: (issuer) =>
    `${issuer} není z tohoto prohlížeče dostupný. Musí povolit požadavky z tohoto původu (CORS) na discovery a token endpoint.`,
  unconfigured: 'Přihlašování do panelu není nastaveno.',
  unconfiguredWhy:
    'Služba přijímá tokeny poskytovatele identity. Zaregistrujte u něj veřejného klienta s adresou přesměrování níže, nastavte PANEL_CLIENT_ID a službu restartujte.',
  redirectUri: 'Adresa přesměrování',
  guide: 'Návod: klient pro panel',
  development: 'Vývoj',
  beWhom: 'Kým chcete být?',
  beWhomWhy: 'Služba běží pro vývoj s vlastním vydavatelem tokenů. Vyberte si osobu; změnit ji můžete kdykoli.',
  needCode: 'Otevřete odkaz, který služba vypsala při startu. Obsahuje kód.',
  code: 'Kód z odkazu',
  otherAddress: 'Jiná adresa',
  as: (email) => `vývoj: ${email}`,
  change: 'změnit',
  expired: 'Vaše přihlášení skončilo',
  expiredWhy: 'Přihlaste se znovu a pokračujte. Co jste napsali, zůstává.',
  again: 'Přihlásit se znovu',
  againWaiting: 'Pokračujte na druhé kartě. Pokud jste ji zavřeli, stiskněte tlačítko znovu.',
  popupBlocked:
    'Prohlížeč zablokoval kartu pro přihlášení. Povolte této stránce vyskakovací okna a stiskněte tlačítko znovu.',
  roles: {
    superadmin: 'SuperAdmin',
    app_admin: 'Správce aplikace',
    panel_edit: 'Panel: úpravy',
    panel_view: 'Panel: čtení',
    user: 'Uživatel',
  },
};
