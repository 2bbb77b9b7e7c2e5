/** Applications with administrators of their own, and how a manifest reaches them. */

export const TEMPLATE = '{ type: generic, locale: en, subject: Hello, html: <p>Hello</p> }';
export const BILLING = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
permissions: [{ code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
templates: [${TEMPLATE}]
admins: [nora@example.com, idle@example.com]
assignments: [{ email: ben@example.com, roles: [reader] }]
`;
export const SHOP = `
application: { code: shop, name: Shop }
roles: [{ code: clerk }]
admins: [olga@example.com]
`;
export const AUTH_MAIL =
  '{ type: auth_idp, key: password_reset, locale: en, subject: Code, html: "<p>{{ code }}</p>" }';
/** An application that has the type of auth mails, because a SuperAdmin gave it one. */
export const PORTAL = `
application: { code: portal, name: Portal }
notificationTypes: [{ code: auth_idp, name: Codes }]
templates: [${AUTH_MAIL}, ${TEMPLATE}]
admins: [nora@example.com]
`;
export const AUTH = `
application: { code: auth, name: Administration }
admins: [aada@example.com]
assignments:
  - { email: view@example.com, roles: [application_manager] }
  - { email: edit@example.com, roles: [application_manager] }
  - { email: pat@example.com, roles: [panel_admin] }
  - { email: shut@example.com, roles: [panel_admin] }
overrides:
  - { email: view@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: view }
  - { email: edit@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: true, accessLevel: edit }
  - { email: shut@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
`;
export const pathOf = (app: string) => `/api/applications/${app}/manifest`;
export const PATH = pathOf('billing');
/** JSON is YAML, too: manifests of these tests are objects. */
export const manifest = (sections: object = {}, code = 'billing') => ({
  application: { code, name: 'Billing' },
  ...sections,
});
