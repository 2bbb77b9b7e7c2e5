export const brands = {
  title: 'Brands',
};
