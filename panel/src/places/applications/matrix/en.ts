export const matrix = {
  title: 'Roles',
};
