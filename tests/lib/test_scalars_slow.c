/* Every function of scalars over 2^20 + 1 rows. */
#include "lib/model_bits.h"
#include "lib/model_hash.h"
#include "lib/model_histogram.h"
#include "lib/model_int.h"
#include "lib/model_pack.h"
#include "lib/model_random.h"
#include "lib/model_sort.h"
#include "lib/model_text.h"

static void a_million_rows_give_what_the_definitions_say(void **state) {
    (void)state;
    map_check_million("bits", "", bits_functions, MAP_COUNT(bits_functions));
    map_check_million("int", "", int_functions, MAP_COUNT(int_functions));
    map_check_million("int", INT_BY_WAY, int_divisions, MAP_COUNT(int_divisions));
    map_check_million("hash", "", hash_scalars, MAP_COUNT(hash_scalars));
    map_check_million("random", "", random_functions, MAP_COUNT(random_functions));
    map_check_million("pack", "", pack_functions, MAP_COUNT(pack_functions));
    map_check_million("sort", "", sort_scalars, MAP_COUNT(sort_scalars));
    map_check_million("histogram", "", histogram_scalars, MAP_COUNT(histogram_scalars));
    map_check_million("text", "", text_functions, MAP_COUNT(text_functions));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_rows_give_what_the_definitions_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
