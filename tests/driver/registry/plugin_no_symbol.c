/* A shared object that is not a plug-in. */
extern const int fake_nothing;
const int fake_nothing = 1;
