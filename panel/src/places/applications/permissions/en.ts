export const permissions = {
  title: 'Permissions',
};
