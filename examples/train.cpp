// The C header from C++: owners that free themselves, errors as exceptions.
// Build: c++ train.cpp $(pkg-config --cflags --libs priorboost)
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include <priorboost/priorboost.h>

namespace
{

// Throws what the library says.
template <typename Call> void check(Call &&call)
{
    pboost_error err = {};
    if (call(&err) != PBOOST_OK)
        throw std::runtime_error(err.message);
}

template <typename T, void (*release)(T *)> struct Releaser {
    void operator()(T *object) const
    {
        release(object);
    }
};
template <typename T, void (*release)(T *)> using Owner = std::unique_ptr<T, Releaser<T, release>>;

using Oracle = Owner<pboost_memory_oracle, pboost_memory_oracle_free>;
using Run = Owner<pboost_run, pboost_run_free>;

// Makes an object with create(T **, pboost_error *) and owns it.
template <typename Owned, typename Create> Owned make(Create &&create)
{
    typename Owned::pointer object = nullptr;
    check([&](pboost_error *err) { return create(&object, err); });
    return Owned(object);
}

double train()
{
    const std::size_t rows = 50000, features = 4;
    std::vector<double> x(rows * features), y(rows), theta(features);

    pboost_synthetic data = PBOOST_SYNTHETIC_INIT;
    data.features = features;
    check([&](pboost_error *e) { return pboost_synthetic_theta(theta.data(), &data, e); });
    check([&](pboost_error *e) {
        return pboost_synthetic_rows(x.data(), y.data(), &data, theta.data(), 0, 0, rows, 0, e);
    });

    // The label holder.
    pboost_rules rules = PBOOST_RULES_INIT;
    rules.min_bag = 64;
    auto holder = make<Oracle>([&](pboost_memory_oracle **out, pboost_error *e) {
        return pboost_memory_oracle_create(out, y.data(), rows, &rules, nullptr, e);
    });
    pboost_oracle oracle = pboost_memory_oracle_interface(holder.get());

    // The learner.
    pboost_features table = {pboost_matrix_f64(x.data(), rows, features), nullptr, nullptr};
    pboost_fit_options fit = PBOOST_FIT_OPTIONS_INIT;
    fit.estimator = PBOOST_AGGREGATE;
    pboost_trainer_options options = PBOOST_TRAINER_OPTIONS_INIT;
    options.bags = PBOOST_BAGS_FEATURES;
    auto run = make<Run>([&](pboost_run **out, pboost_error *e) {
        return pboost_run_create(out, &table, &oracle, &fit, &options, e);
    });
    check([&](pboost_error *e) { return pboost_run_rounds(run.get(), options.rounds, e); });

    double worst = 0.0;
    for (std::size_t j = 0; j < features; j++) {
        double weight = pboost_run_coef(run.get())->theta[j];
        std::printf("weight %zu: %7.4f, truly %7.4f\n", j, weight, theta[j]);
        worst = std::max(worst, weight > theta[j] ? weight - theta[j] : theta[j] - weight);
    }
    return worst;
}

} // namespace

int main()
{
    try {
        return train() < 0.02 ? 0 : 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
